package phases

import (
	corev1 "k8s.io/api/core/v1"

	"clusterctl/components"
)

// Leave is leave, for tests.
func (e *Env) Leave(name string, err error) bool { return e.leave(name, err) }

// Founding is the decision which etcd cluster it is.
type Founding = components.Identity

// Settle is what Observe does with what it saw.
func (c *Cluster) Settle(out Observed) { c.settle(out) }

// Initialised tells whether a cloud controller has seen a node.
func Initialised(n *corev1.Node) error { return initialised(n) }

// ListenScript is what has a host listen.
var ListenScript = listenScript
