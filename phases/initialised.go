package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components/cloudcontroller"
	"clusterctl/phases/health"
	"clusterctl/provision/inventory"
)

// initialisedGates: the cloud controller has told the node where its machine is, and taken off the taint
// that keeps pods away until then. Without it nothing that follows would run.
func initialisedGates(e *Env, h inventory.Host) []health.Condition {
	if !e.Cluster.Spec.Spec.Provider.CloudControlled() {
		return nil
	}
	return []health.Condition{{
		Name: "node initialised by the cloud controller", Host: h.Name, Timeout: nodeTimeout, Explain: e.explainCloudController,
		Check: func(ctx context.Context) error {
			n, err := e.node(ctx, h.Name)
			if err != nil {
				return err
			}
			return initialised(n)
		},
	}}
}

func initialised(n *corev1.Node) error {
	if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudcontroller.Uninitialised }) {
		return errors.New("it still has the taint " + cloudcontroller.Uninitialised)
	}
	return nil
}

// explainCloudController gives the last lines of the controller that leads, or says whose it is.
func (e *Env) explainCloudController(ctx context.Context) string {
	if !e.Cluster.Spec.Spec.Provider.OwnCloudController() {
		return "the cloud controller is the one that the spec's provider names under cloudController: look at its pods in " + metav1.NamespaceSystem
	}
	name, err := e.cloudLeader(ctx)
	if err != nil {
		return fmt.Sprintf("which %s leads is not known: %v", cloudcontroller.AWSName, err)
	}
	return e.lastLines(name, cloudcontroller.AWSName)(ctx)
}

// cloudLeader is the control plane whose cloud controller leads. Who leads is written down as the host's
// name and what makes it unique.
func (e *Env) cloudLeader(ctx context.Context) (string, error) {
	api, err := e.API(ctx)
	if err != nil {
		return "", err
	}
	held, err := api.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, cloudcontroller.Lease, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	holder := ""
	if held.Spec.HolderIdentity != nil {
		holder, _, _ = strings.Cut(*held.Spec.HolderIdentity, "_")
	}
	for _, h := range e.Cluster.planes(e.Skip) {
		if h.Name == holder {
			return h.Name, nil
		}
	}
	return "", fmt.Errorf("the lease is held by %q", holder)
}
