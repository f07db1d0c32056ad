// Package bucket keeps a cluster's state in an S3-compatible bucket. Every write is conditional on
// what was read before (RFC 9110, If-Match and If-None-Match, which S3 has had for writes since
// 2024), so that nobody overwrites a newer state.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"clusterctl/phases/state"
)

// requestTime is more than any of our small objects takes.
const requestTime = time.Minute

// Place is where in which bucket the state is.
type Place struct {
	Endpoint string // URL of the server
	Region   string // empty: the server tells
	Bucket   string
	Prefix   string // of all object names, without a slash at the end
}

// Store is a state.Store. It remembers of every object the version that it has seen last. It is
// for one command, whose context ends its requests. It is safe for concurrent use.
type Store struct {
	ctx    context.Context
	client *minio.Client
	place  Place

	mu   sync.Mutex
	seen map[string]string // entity tags by name; "" is an object that is not there
}

var _ state.Store = (*Store)(nil)

// Open makes the store for one command; it asks nobody yet. Credentials come from the variables
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, from ~/.aws/credentials, or from
// the role of the machine or pod.
func Open(ctx context.Context, p Place) (*Store, error) {
	u, err := url.Parse(p.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("state in a bucket: endpoint: %w", err)
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds:      credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}}}),
		Secure:     u.Scheme == "https",
		Region:     p.Region,
		MaxRetries: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("state in a bucket: %w", err)
	}
	return &Store{ctx: ctx, client: client, place: p, seen: map[string]string{}}, nil
}

// String is where the state is, for people: s3://bucket/prefix/.
func (s *Store) String() string { return "s3://" + s.place.Bucket + "/" + s.object("") }

func (s *Store) object(name string) string {
	return strings.TrimSuffix(s.place.Prefix, "/") + "/" + name
}

// ChangedError says that somebody else has written an object since it was read here.
type ChangedError struct{ Object string }

func (e *ChangedError) Error() string {
	return e.Object + " was changed by another run since this one read it, and is left as it is: run the command again"
}

// Read gives an object; false when it is not there.
func (s *Store) Read(name string) ([]byte, bool, error) {
	data, tag, err := s.get(name)
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[name] = tag
	return data, tag != "", nil
}

// get gives an object and its entity tag; both are empty when it is not there.
func (s *Store) get(name string) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	o, err := s.client.GetObject(ctx, s.place.Bucket, s.object(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, "", s.explain("read", name, err)
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if code(err) == minio.NoSuchKey {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", s.explain("read", name, err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, "", s.explain("read", name, err)
	}
	return data, info.ETag, nil
}

// Write replaces an object that is as this store has seen it last, or gives a *ChangedError. One
// that it has never seen must not be there.
func (s *Store) Write(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	if tag := s.seen[name]; tag != "" {
		opts.SetMatchETag(tag)
	} else {
		opts.SetMatchETagExcept("*")
	}
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	info, err := s.client.PutObject(ctx, s.place.Bucket, s.object(name), bytes.NewReader(data), int64(len(data)), opts)
	switch {
	case err == nil:
		s.seen[name] = info.ETag
		return nil
	case code(err) != minio.PreconditionFailed && code(err) != "ConditionalRequestConflict":
		return s.explain("write", name, err)
	}
	// A write whose answer was lost is tried again by the client, and then meets itself.
	there, tag, getErr := s.get(name)
	if getErr == nil && tag != "" && bytes.Equal(there, data) {
		s.seen[name] = tag
		return nil
	}
	return errors.Join(&ChangedError{s.String() + name}, getErr)
}

// Remove deletes an object; one that is not there is no error.
func (s *Store) Remove(name string) error {
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	if err := s.client.RemoveObject(ctx, s.place.Bucket, s.object(name), minio.RemoveObjectOptions{}); err != nil {
		return s.explain("remove", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, name)
	return nil
}

// List gives the names that begin with prefix, sorted.
func (s *Store) List(prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	var out []string
	for o := range s.client.ListObjects(ctx, s.place.Bucket, minio.ListObjectsOptions{Prefix: s.object(prefix), Recursive: true}) {
		if o.Err != nil {
			return nil, s.explain("list", prefix, o.Err)
		}
		out = append(out, strings.TrimPrefix(o.Key, s.object("")))
	}
	slices.Sort(out)
	return out, nil
}

func code(err error) string { return minio.ToErrorResponse(err).Code }

// explain says what was done where and what to do next.
func (s *Store) explain(verb, name string, err error) error {
	next := ""
	switch code(err) {
	case minio.NoSuchBucket:
		next = ": make the bucket, or correct spec.state.s3.bucket"
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		next = ": check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may read, write, list and delete there"
	}
	return fmt.Errorf("state: %s %s at %s: %w%s", verb, s.String()+name, s.place.Endpoint, err, next)
}
