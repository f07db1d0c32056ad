package apply

import (
	"context"
	"fmt"

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
			_, err = api.Apply(ctx, r.Object, kube.Persist)
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
