package phases

import (
	"cmp"
	"slices"
	"strings"

	"clusterctl/components"
	"clusterctl/components/balancer"
	"clusterctl/components/cloudcontroller"
	"clusterctl/components/coredns"
	"clusterctl/components/flannel"
	"clusterctl/components/kubernetes"
	"clusterctl/components/resource"
	"clusterctl/phases/health"
	"clusterctl/provision/inventory"
)

// Up is the runbook that brings a cluster up and keeps it that way: the whole order on one
// screen. Nothing in it knows whether this is the first run.
func Up() []Phase {
	return []Phase{
		{Name: "vacate", Doc: "hosts out of the spec that are dead, or whose address another one takes", Waves: leaveWaves(true)},
		{Name: "os", Doc: "modules, kernel settings, swap and the cluster's identity", Waves: osWaves},
		{Name: "bundle", Doc: "programs, each at its versioned path: all before the first restart, on a first up those of control planes", Waves: programWaves},
		{Name: "pki", Doc: "certificates, keys and kubeconfigs", Waves: only(secrets)},
		{Name: "etcd", Doc: "the members and their quorum", Waves: etcdWaves, Gates: quorumGates},
		{Name: "apiserver", Doc: "API servers, one after the other when they run already; on a way back controllers before them", Waves: apiServerWaves},
		{Name: "runtime", Doc: "the other programs, container runtime, images, balancer, while API servers start", Waves: runtimeWaves},
		{Name: "controllers", Doc: "controller managers, schedulers and, on AWS, cloud controllers", Waves: controllerWaves},
		{Name: "ready", Doc: "API servers serve, controllers work", Waves: none, Gates: planeGates},
		{Name: "objects", Doc: "access rules that nodes and people need", Waves: bootstrapObjects},
		{Name: "nodes", Doc: "kubelets, service proxies and pod network", Waves: nodeWaves, Gates: nodeGates},
		{Name: "addons", Doc: "cluster DNS", Waves: addonObjects, Gates: addonGates},
		{Name: "leave", Doc: "hosts out of the spec: etcd member, what runs there, node", Waves: leaveWaves(false)},
		{Name: "verify", Doc: "everything answers", Waves: none, Gates: verifyGates},
	}
}

// controllers are the components that follow their API server to a newer version, and go before it on
// the way back.
var controllers = []string{"kube-controller-manager", "kube-scheduler", cloudcontroller.AWSName}

// planePrograms are the components whose programs are needed first.
var planePrograms = append([]string{"etcd", "kube-apiserver"}, controllers...)

// detached is one wave of units whose first start the phase ready waits for; gates must hold where one
// is restarted.
func detached(gates func(*Env, inventory.Host) []health.Condition, names ...string) func(*Cluster, map[string]bool) ([]Wave, error) {
	return func(c *Cluster, skip map[string]bool) ([]Wave, error) {
		rs, err := c.resources(skip, names, everything)
		return []Wave{{Resources: rs, Restarted: gates}}, err
	}
}

// programWaves: where something runs already, everything new is on every host before anything is
// restarted: a full disk or a lost link then costs nothing. On a first up the control planes start
// while the rest travels.
func programWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	if len(c.Running) == 0 || c.Running.none() {
		return only(artifacts, planePrograms...)(c, skip)
	}
	waves, err := programs(c, skip)
	for i := range waves {
		waves[i].Apart = true
	}
	return waves, err
}

// programs are those of all components, all files in one stream and then all links.
func programs(c *Cluster, skip map[string]bool) ([]Wave, error) {
	waves, err := only(artifacts)(c, skip)
	for _, w := range waves {
		slices.SortStableFunc(w.Resources, func(a, b resource.Resource) int { return cmp.Compare(a.Key().Kind, b.Key().Kind) })
	}
	return waves, err
}

// apiServerWaves: balancers that run know every API server before one that they know stops; on a way
// back controllers go first, since none is ever newer than an API server.
func apiServerWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	servers, err := detached(steadyAPIServer, "kube-apiserver")(c, skip)
	for i := range servers {
		servers[i].Before = apiServerBefore
	}
	var before []Wave
	if err == nil && !c.Running.none() {
		before, err = only(backends, balancer.Component{}.Name())(c, skip)
	}
	if err == nil && c.back() {
		var controllers []Wave
		controllers, err = controllerWaves(c, skip)
		before = append(before, controllers...)
	}
	return append(before, servers...), err
}

// controllerWaves: a controller manager that has taken the lead gives its host's API server 10 s to
// become healthy, else it ends, and no other may lead before its lease is over
// (kubernetes, cmd/kube-controller-manager/app, CreateControllerContext).
func controllerWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	waves, err := detached(controllerGates, controllers...)(c, skip)
	for i := range waves {
		waves[i].Entry = func(e *Env) []health.Condition { return eachPlane(e, apiServerGates) }
	}
	return waves, err
}

// runtimeWaves: programs of everything, then what runs them.
func runtimeWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	programs, err := programs(c, skip)
	if err != nil {
		return nil, err
	}
	units, err := detached(nodeReadyGates, "containerd", "clusterctl-balancer")(c, skip)
	return append(programs, units...), err
}

func none(*Cluster, map[string]bool) ([]Wave, error) { return nil, nil }

func everything(resource.Resource) bool { return true }

func artifacts(r resource.Resource) bool {
	k := r.Key().Kind
	return k == resource.KindArtifact || k == resource.KindLink
}

func secrets(r resource.Resource) bool {
	f, ok := r.(resource.File)
	return ok && (f.Secret || strings.HasPrefix(f.Path, components.PKIDir+"/"))
}

func backends(r resource.Resource) bool {
	f, ok := r.(resource.File)
	return ok && f.Path == balancer.ConfigPath
}

// only is one wave over all hosts with what keep accepts of the named components, or of all.
func only(keep func(resource.Resource) bool, names ...string) func(*Cluster, map[string]bool) ([]Wave, error) {
	return func(c *Cluster, skip map[string]bool) ([]Wave, error) {
		rs, err := c.resources(skip, names, keep)
		return []Wave{{Resources: rs}}, err
	}
}

func bootstrapObjects(c *Cluster, _ map[string]bool) ([]Wave, error) {
	rs, err := kubernetes.Objects()
	if err != nil {
		return nil, err
	}
	if c.Spec.Spec.Network.CNI == "flannel" {
		access, err := flannel.Objects()
		if err != nil {
			return nil, err
		}
		rs = append(rs, access...)
	}
	cloud, err := cloudcontroller.Objects(c.Spec, c.CloudObjects)
	if err != nil {
		return nil, err
	}
	return []Wave{{Resources: append(rs, cloud...)}}, nil
}

// nodeWaves: a kubelet registers its node, then labels and pod network follow, and only then the
// network's configuration, which makes the node Ready: no pod meets a half-made network.
func nodeWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	kubelets, err := c.resources(skip, []string{"kubectl", "kubelet", "kube-proxy"}, everything)
	if err != nil {
		return nil, err
	}
	for _, h := range c.reachable(skip) {
		kubelets = append(kubelets, resource.Scheduling{Host: h.Name})
	}
	var gone []resource.Resource
	for _, name := range c.Remade {
		gone = append(gone, resource.NoNode{Name: name}) // before the new machine's kubelet takes it for its own
	}
	waves := []Wave{{Resources: gone}, {Resources: kubelets, Gates: kubeletGates, Restarted: nodeReadyGates, Drains: true}}
	network, err := c.resources(skip, []string{"cni", "flanneld"}, everything)
	if err != nil {
		return nil, err
	}
	var nodes, conflists []resource.Resource
	for _, h := range c.reachable(skip) {
		nodes = append(nodes, kubernetes.Node(c.Node(h)))
		if c.Spec.Spec.Network.CNI != "flannel" {
			continue
		}
		f, err := flannel.Conflist(h.Name)
		if err != nil {
			return nil, err
		}
		conflists = append(conflists, f)
	}
	return append(waves, Wave{Resources: append(nodes, network...)}, Wave{Resources: conflists}), nil
}

func addonObjects(c *Cluster, _ map[string]bool) ([]Wave, error) {
	rs, err := coredns.Objects(c.Spec, len(c.Inventory.Hosts))
	return []Wave{{Resources: rs}}, err
}
