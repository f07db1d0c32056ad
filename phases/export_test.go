package phases

import "clusterctl/components"

// Leave is leave, for tests.
func (e *Env) Leave(name string, err error) bool { return e.leave(name, err) }

// Founding is the decision which etcd cluster it is.
type Founding = components.Identity

// Settle is what Observe does with what it saw.
func (c *Cluster) Settle(out Observed) { c.settle(out) }

// ListenScript is what has a host listen.
var ListenScript = listenScript
