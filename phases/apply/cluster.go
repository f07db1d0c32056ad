package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"clusterctl/components/resource"
	"clusterctl/phases/kube"
	"clusterctl/phases/plan"
)

// Cluster does steps on the Kubernetes API in order: server-side apply, with our field manager,
// so that what others set in other fields stays (Kubernetes, "Server-Side Apply").
func Cluster(ctx context.Context, api *kube.Client, steps []plan.Step, done func(plan.Step)) error {
	for _, s := range steps {
		var err error
		switch r := s.Want.(type) {
		case resource.Manifest:
			err = manifest(ctx, api, r.Object)
		case resource.Node:
			err = api.SetNode(ctx, r)
		case resource.NoNode:
			err = api.RemoveNode(ctx, r.Name)
		default:
			err = fmt.Errorf("no operation for a %s", s.Key.Kind)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.Verb, s.Want.Title(), err)
		}
		done(s)
	}
	return nil
}

// manifest applies an object; a Service also when an earlier try to create it was cut off half-way.
func manifest(ctx context.Context, api *kube.Client, o *unstructured.Unstructured) error {
	_, err := api.Apply(ctx, o, kube.Persist)
	if !apierrors.IsInvalid(err) {
		return err
	}
	freed, why := api.FreeAddress(ctx, o)
	if !freed {
		return errors.Join(err, why)
	}
	_, err = api.Apply(ctx, o, kube.Persist)
	return err
}
