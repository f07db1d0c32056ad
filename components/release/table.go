package release

import (
	"regexp"
	"strings"
)

// One function per component. Versions are pinned a second time, with
// checksums, in the nested module's go.mod and go.sum; the check after the
// build holds the two together.

// kubernetesOf is upstream's hack/lib/version.sh with what a module can know:
// the commit is not part of it, "archive" is upstream's word for a tree that
// is no checkout, the date is that of the release.
func kubernetesOf(version, date string) Component {
	major, minor := majorMinor(version)
	var stamps []Stamp
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		stamps = append(stamps,
			Stamp{pkg + ".gitVersion", version},
			Stamp{pkg + ".gitMajor", major},
			Stamp{pkg + ".gitMinor", minor},
			Stamp{pkg + ".gitCommit", "unknown"},
			Stamp{pkg + ".gitTreeState", "archive"},
			Stamp{pkg + ".buildDate", date})
	}
	servers := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"}
	var checks []Check
	for _, name := range servers {
		checks = append(checks, Check{Args: []string{name, "--version"}, Pattern: `^Kubernetes (\S+)\n$`, Want: version})
	}
	client := []string{"kubectl", "version", "--client", "-o", "json"}
	checks = append(checks,
		Check{Args: client, Pattern: `"gitVersion": "(.*)"`, Want: version},
		Check{Args: client, Pattern: `"major": "(.*)"`, Want: major},
		Check{Args: client, Pattern: `"minor": "(.*)"`, Want: minor},
		Check{Args: client, Pattern: `"buildDate": "(.*)"`, Want: date},
		Check{Args: []string{"kubectl", "--server", ServerArg, "get", "--raw", "/"}, Server: true, Pattern: `^kubectl/(\S+) `, Want: version})
	return Component{Name: "kubernetes", Version: version, Dir: "components/kubernetes/build/" + major + "." + minor,
		Artifacts: []Artifact{{Name: "kubernetes", Kind: Binary, Package: ".", Links: append(servers, "kubectl"), Stamps: stamps, Checks: checks}}}
}

func etcdOf(version string) Component {
	major, minor := majorMinor(version)
	plain := strings.TrimPrefix(version, "v")
	return Component{Name: "etcd", Version: version, Dir: "components/etcd/build/" + major + "." + minor,
		Artifacts: []Artifact{{Name: "etcd", Kind: Binary, Package: ".", Links: []string{"etcd", "etcdctl", "etcdutl"}, Checks: []Check{
			{Args: []string{"etcd", "--version"}, Pattern: `(?m)^etcd Version: (\S+)$`, Want: plain},
			{Args: []string{"etcdctl", "version"}, Pattern: `(?m)^etcdctl version: (\S+)$`, Want: plain},
			{Args: []string{"etcdutl", "version"}, Pattern: `(?m)^etcdutl version: (\S+)$`, Want: plain},
		}}}}
}

// awsCloud has Kubernetes' minor version: a cloud controller may not be newer than an API server that it
// reaches, and one minor version older at most (Kubernetes, "Version Skew Policy", cloud-controller-manager).
func awsCloud(version string) Component {
	major, minor := majorMinor(version)
	const name = "aws-cloud-controller-manager"
	return Component{Name: name, Version: version, Part: AWS, Dir: "components/cloudcontroller/build/" + major + "." + minor, Artifacts: []Artifact{
		{Name: name, Kind: Binary, Package: "k8s.io/cloud-provider-aws/cmd/" + name, Links: []string{name},
			Stamps: []Stamp{{"k8s.io/component-base/version.gitVersion", version}},
			Checks: []Check{{Args: []string{name, "--version"}, Pattern: `^Kubernetes (\S+)\n$`, Want: version}}},
	}}
}

func containerd() Component {
	const version, module = "v2.4.2", "github.com/containerd/containerd/v2"
	stamps := []Stamp{{module + "/version.Version", version}, {module + "/version.Package", module}}
	return Component{Name: "containerd", Version: version, Dir: "components/containerd/build/2.4", Artifacts: []Artifact{
		{Name: "containerd", Kind: Binary, Package: ".", Links: []string{"containerd", "ctr"}, Stamps: stamps, Checks: []Check{
			{Args: []string{"containerd", "--version"}, Pattern: `^containerd ` + module + ` (\S+)`, Want: version},
			{Args: []string{"ctr", "--version"}, Pattern: `^ctr ` + module + ` (\S+)`, Want: version},
		}},
		{Name: "containerd-shim-runc-v2", Kind: Binary, Package: module + "/cmd/containerd-shim-runc-v2", Links: []string{"containerd-shim-runc-v2"}, Stamps: stamps, Checks: []Check{
			{Args: []string{"containerd-shim-runc-v2", "-v"}, Pattern: `Version:\s+(\S+)`, Want: version},
		}},
	}}
}

// runc takes its version from a file of its module. See libseccomp(3) for why
// it needs C; netgo and osusergo keep the rest of libc out of a static program.
func runc() Component {
	const version = "v1.5.3"
	return Component{Name: "runc", Version: version, Dir: "components/runc/build/1.5", Artifacts: []Artifact{
		{Name: "runc", Kind: Binary, Package: "github.com/opencontainers/runc", Links: []string{"runc"}, Cgo: "libseccomp", Tags: []string{"seccomp", "netgo", "osusergo"}, Checks: []Check{
			{Args: []string{"runc", "--version"}, Pattern: `^runc version (\S+)`, Want: strings.TrimPrefix(version, "v")},
			{Args: []string{"runc", "--version"}, Pattern: `(?m)^(libseccomp): `, Want: "libseccomp"},
		}},
	}}
}

func cni() Component {
	const module = "github.com/containernetworking/plugins"
	c := Component{Name: "cni", Version: "v1.10.0", Dir: "components/cni/build/1.10"}
	for _, p := range []string{"main/bridge", "main/loopback", "ipam/host-local", "meta/portmap"} {
		c.Artifacts = append(c.Artifacts, cniPlugin(module, p, c.Version))
	}
	return c
}

// flannelCNI is the plugin's last version in the plugins project; it speaks
// CNI 0.4.0.
func flannelCNI() Component {
	c := Component{Name: "flannel-cni", Version: "v0.9.1", Dir: "components/cni/build/flannel"}
	c.Artifacts = []Artifact{cniPlugin("github.com/containernetworking/plugins", "meta/flannel", c.Version)}
	return c
}

func cniPlugin(module, path, version string) Artifact {
	name := path[strings.LastIndex(path, "/")+1:]
	return Artifact{Name: "cni-" + name, Kind: Binary, Package: module + "/plugins/" + path, Links: []string{name},
		Stamps: []Stamp{{module + "/pkg/utils/buildversion.BuildVersion", version}},
		Checks: []Check{{Args: []string{name}, Pattern: `^CNI ` + name + ` plugin (\S+)`, Want: version}}}
}

// flannel's daemon runs as a unit of the host, so it is a program and no image.
func flannel() Component {
	const version = "v0.28.10"
	return Component{Name: "flannel", Version: version, Dir: "components/flannel/build/0.28", Artifacts: []Artifact{
		{Name: "flanneld", Kind: Binary, Package: ".", Links: []string{"flanneld"},
			Stamps: []Stamp{{"github.com/flannel-io/flannel/pkg/version.Version", version}},
			Checks: []Check{{Args: []string{"flanneld", "--version"}, Pattern: `^(\S+)\n$`, Want: version}}},
	}}
}

// crictl follows Kubernetes' minor versions and is a tool for people: one
// version serves all of ours.
func crictl() Component {
	const version = "v1.37.0"
	return Component{Name: "crictl", Version: version, Dir: "components/crictl/build/1.37", Artifacts: []Artifact{
		{Name: "crictl", Kind: Binary, Package: "sigs.k8s.io/cri-tools/cmd/crictl", Links: []string{"crictl"},
			Stamps: []Stamp{{"sigs.k8s.io/cri-tools/pkg/version.Version", version}},
			Checks: []Check{{Args: []string{"crictl", "--version"}, Pattern: `^crictl version (\S+)`, Want: version}}},
	}}
}

// coredns runs as root in its image: port 53 needs NET_BIND_SERVICE, which a
// manifest can leave to uid 0 alone while dropping all other capabilities.
func coredns() Component {
	const version = "v1.15.0"
	return Component{Name: "coredns", Version: version, Dir: "components/coredns/build/1.15", Artifacts: []Artifact{
		{Name: "coredns-image", Kind: Image, Package: ".",
			Checks: []Check{{Args: []string{"coredns", "-version"}, Pattern: `(?m)^CoreDNS-(\S+)$`, Want: strings.TrimPrefix(version, "v")}},
			Image:  ImageSpec{Reference: CoreDNSImage, Entrypoint: "/coredns", User: "0:0"}},
	}}
}

func pause() Component {
	const version = "v1.0.0"
	return Component{Name: "pause", Version: version, Dir: "components/pause/build/1", Artifacts: []Artifact{
		{Name: "pause-image", Kind: Image, Package: ".",
			Stamps: []Stamp{{"main.version", version}},
			Checks: []Check{{Args: []string{"pause", "-v"}, Pattern: `^pause (\S+)\n$`, Want: version}},
			Image:  ImageSpec{Reference: PauseImage, Entrypoint: "/pause", User: "65535:65535"}},
	}}
}

func balancer() Component {
	const version = "v1.0.0"
	return Component{Name: "balancer", Version: version, Dir: "components/balancer/build/1", Artifacts: []Artifact{
		{Name: "clusterctl-balancer", Kind: Binary, Package: ".", Links: []string{"clusterctl-balancer"},
			Stamps: []Stamp{{"main.version", version}},
			Checks: []Check{{Args: []string{"clusterctl-balancer", "--version"}, Pattern: `^clusterctl-balancer (\S+)\n$`, Want: version}}},
	}}
}

// majorMinor splits v1.37.2 into 1 and 37.
func majorMinor(version string) (major, minor string) {
	m := regexp.MustCompile(`^v(\d+)\.(\d+)\.`).FindStringSubmatch(version)
	return m[1], m[2]
}
