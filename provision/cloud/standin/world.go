package standin

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// Thing is one thing in the world.
type Thing struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Inputs  map[string]any `json:"inputs"`
	Outputs map[string]any `json:"outputs"`
}

// name is what the cloud calls a thing, where it gives each name of a type once; empty for others.
func (t Thing) name() string {
	key := map[string]string{
		"aws:ec2/keyPair:KeyPair": "keyName", "gcp:serviceaccount/account:Account": "accountId", "vsphere:index/folder:Folder": "path",
		"aws:iam/rolePolicy:RolePolicy": "", // one of a role
	}
	field, ok := key[t.Type]
	if !ok {
		field = "name"
	}
	name, _ := t.Inputs[field].(string)
	return name
}

// called finds a thing by its type and the name that the cloud gives once.
func (w *World) called(typ, name string) (Thing, bool, error) {
	all, err := w.Things()
	i := slices.IndexFunc(all, func(t Thing) bool { return t.Type == typ && name != "" && t.name() == name })
	if err != nil || i < 0 {
		return Thing{}, false, err
	}
	return all[i], true, nil
}

// World is a cloud as a directory: a file for each thing, a log of calls, and faults to come.
type World struct {
	Dir string

	mu sync.Mutex
}

// errGone says that a thing is not there.
var errGone = errors.New("no such thing")

func (w *World) path(id string) string {
	return filepath.Join(w.Dir, "things", strings.NewReplacer("/", "_", ":", "_").Replace(id)+".json")
}

// Things lists everything there is, by id.
func (w *World) Things() ([]Thing, error) {
	files, err := filepath.Glob(filepath.Join(w.Dir, "things", "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Thing
	for _, f := range files {
		t, err := read(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func read(path string) (Thing, error) {
	var t Thing
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(data, &t)
}

// Get finds a thing.
func (w *World) Get(id string) (Thing, error) {
	t, err := read(w.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("%s: %w", id, errGone)
	}
	return t, err
}

// find finds a thing by its id, or by its name or a path with its name at the end, which is what
// things are imported by where names are unique, or by its ARN.
func (w *World) find(typ, id string) (Thing, error) {
	if t, err := w.Get(id); !errors.Is(err, errGone) {
		return t, err
	}
	all, err := w.Things()
	if err != nil {
		return Thing{}, err
	}
	last, _, _ := strings.Cut(path.Base(id), "@") // accounts have an address
	i := slices.IndexFunc(all, func(t Thing) bool {
		return t.Type == typ && (t.Name == last || t.name() == last || t.Outputs["arn"] == id)
	})
	if i < 0 {
		return Thing{}, fmt.Errorf("%s: %w", id, errGone)
	}
	return all[i], nil
}

// Put stores a thing, whole or not at all: whoever reads meanwhile finds the old one or the new.
func (w *World) Put(t Thing) error {
	if err := os.MkdirAll(filepath.Join(w.Dir, "things"), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(w.path(t.ID), data, 0o600)
}

// Make puts a new thing into the world, with an id as the cloud would give it. A name that is given
// once and is taken is refused.
func (w *World) Make(typ, name string, inputs map[string]any) (Thing, error) {
	t := Thing{ID: w.newID(typ, name), Type: typ, Name: name, Inputs: inputs}
	if _, taken, err := w.called(t.Type, t.name()); err != nil || taken {
		return Thing{}, errors.Join(err, fmt.Errorf("EntityAlreadyExists: there is a %s called %s", t.Type, t.name()))
	}
	t.Outputs = w.outputs(t)
	return t, w.Put(t)
}

// Delete removes a thing, and returns when it does not run any more; one that is not there is no
// error.
func (w *World) Delete(id string) error {
	if err := os.Remove(w.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.wait(running(id), false)
	return nil
}

// SetRunning notes whether a machine runs behind a thing: for who has more behind them than files.
func (w *World) SetRunning(id string, on bool) error {
	path := filepath.Join(w.Dir, running(id))
	if !on {
		return os.Remove(path)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
}

func running(id string) string { return filepath.Join("running", id) }

// wait waits until a file is in the world, or is there no more.
func (w *World) wait(name string, there bool) {
	for {
		if _, err := os.Stat(filepath.Join(w.Dir, name)); (err == nil) == there {
			return
		}
		time.Sleep(50 * time.Millisecond) // a test lets it go on
	}
}

// newID makes an id as the cloud would: a prefix of the kind, then hexadecimal digits.
func (w *World) newID(typ, name string) string {
	prefix := map[string]string{
		"aws:ec2/instance:Instance": "i-", "aws:ec2/vpc:Vpc": "vpc-", "aws:ec2/subnet:Subnet": "subnet-", "aws:ec2/securityGroup:SecurityGroup": "sg-",
		"aws:ec2/eip:Eip": "eipalloc-", "aws:ec2/natGateway:NatGateway": "nat-", "aws:ec2/routeTable:RouteTable": "rtb-",
		"aws:ec2/internetGateway:InternetGateway": "igw-", "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr-",
	}[typ]
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", typ, name, time.Now().UnixNano()))
	return prefix + hex.EncodeToString(sum[:])[:17]
}

// Log appends a call.
func (w *World) Log(op, typ, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(w.Dir, "calls.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, op, typ, name)
	return errors.Join(err, f.Close())
}

// Calls gives the log's lines.
func (w *World) Calls() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(w.Dir, "calls.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n"), err
}

// Fault is what goes wrong with one operation on one thing.
type Fault string

// The faults.
const (
	Fail   Fault = "fail"   // the cloud refuses
	Denied Fault = "denied" // the credentials have run out
	Orphan Fault = "orphan" // the thing is made and the answer is lost: the plugin dies
	Killed Fault = "killed" // the thing is made and the engine killed, as by a power cut
	Slow   Fault = "slow"   // it takes until the file "go" is in the world
)

// SetFaults says what goes wrong from now on: "create web-1" -> Fail.
func (w *World) SetFaults(faults map[string]Fault) error {
	var b strings.Builder
	for what, f := range faults {
		fmt.Fprintln(&b, what, f)
	}
	return os.WriteFile(filepath.Join(w.Dir, "faults"), []byte(b.String()), 0o600)
}

// fault gives the fault of an operation; empty for none.
func (w *World) fault(op, typ, name string) (Fault, error) {
	f, err := os.Open(filepath.Join(w.Dir, "faults"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == op && (words[1] == name || words[1] == typ+"::"+name) {
			return Fault(words[2]), nil
		}
	}
	return "", nil
}

// tagged lists the things whose type begins so and that carry all of the tags, by id.
func (w *World) tagged(typ string, tags map[string]any) ([]Thing, error) {
	all, err := w.Things()
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(all, func(t Thing) bool {
		have, _ := t.Inputs["tags"].(map[string]any)
		for k, v := range tags {
			if have[k] != v {
				return true
			}
		}
		return !strings.HasPrefix(t.Type, typ)
	})
	return out, nil
}
