// Command flanneld runs flannel as a host's systemd unit: subnets come from
// the Kubernetes API, packets travel by the vxlan or host-gw backend, rules
// are kept in nftables or iptables. The backends that carry a cloud's SDK,
// need cgo or a kernel tunnel module are left out, so is the etcd subnet
// manager. The flags have the names and the meaning of upstream's.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/flannel-io/flannel/pkg/backend"
	_ "github.com/flannel-io/flannel/pkg/backend/hostgw" // registers itself as host-gw
	_ "github.com/flannel-io/flannel/pkg/backend/vxlan"  // registers itself as vxlan
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
	"github.com/flannel-io/flannel/pkg/version"
	"k8s.io/klog/v2"
)

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2) // the flag set has printed the reason
	}
	if o.version {
		fmt.Println(version.Version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "flanneld ends")
		klog.Flush()
		os.Exit(1)
	}
	klog.InfoS("flanneld stopped")
	klog.Flush()
}

type options struct {
	kubeconfig, netConfig, subnetFile, publicIP string
	ifaces                                      []string
	ipMasq, forwardRules, version               bool
	resync                                      int // seconds between two looks at the iptables rules
	healthz                                     string
}

func parse(args []string) (options, error) {
	var (
		o           options
		kubeSubnets bool
		healthzIP   string
		healthzPort int
	)
	fs := flag.NewFlagSet("flanneld", flag.ContinueOnError)
	fs.BoolVar(&kubeSubnets, "kube-subnet-mgr", true, "take subnets from the Kubernetes API (the only manager of this build)")
	fs.StringVar(&o.kubeconfig, "kubeconfig-file", "", "kubeconfig `file`; the node's name is read from the environment variable NODE_NAME")
	fs.StringVar(&o.netConfig, "net-config-path", "/etc/kube-flannel/net-conf.json", "network configuration `file`")
	fs.StringVar(&o.subnetFile, "subnet-file", "/run/flannel/subnet.env", "`file` written for the CNI plugin")
	fs.StringVar(&o.publicIP, "public-ip", "", "`address` by which other nodes reach this one")
	fs.Func("iface", "interface `name or address` between hosts; may be given several times, the first match is taken", func(s string) error {
		o.ifaces = append(o.ifaces, s)
		return nil
	})
	fs.BoolVar(&o.ipMasq, "ip-masq", false, "masquerade what leaves the pod network")
	fs.BoolVar(&o.forwardRules, "iptables-forward-rules", true, "accept forwarded traffic of the pod network")
	fs.IntVar(&o.resync, "iptables-resync", 5, "`seconds` between two checks of the iptables rules")
	fs.StringVar(&healthzIP, "healthz-ip", "0.0.0.0", "`address` of the health server")
	fs.IntVar(&healthzPort, "healthz-port", 0, "`port` of the health server, 0 for none")
	fs.BoolVar(&o.version, "version", false, "print the version and exit")
	logs := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(logs)
	fs.Var(logs.Lookup("v").Value, "v", "log `level`")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if !kubeSubnets {
		err := fmt.Errorf("this build has no etcd subnet manager: leave --kube-subnet-mgr on")
		fmt.Fprintln(fs.Output(), err)
		return o, err
	}
	if healthzPort > 0 {
		o.healthz = net.JoinHostPort(healthzIP, strconv.Itoa(healthzPort))
	}
	return o, nil
}

// run sets the network up, tells systemd when pods may start, and returns
// when ctx ends. What was set up stays: pods keep their network while the
// daemon is replaced.
func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	ready, err := serveHealth(ctx, &wg, o.healthz)
	if err != nil {
		return err
	}
	sm, err := kube.NewSubnetManager(ctx, "", o.kubeconfig, "flannel.alpha.coreos.com", o.netConfig, true)
	if err != nil {
		return fmt.Errorf("start the subnet manager: %w", err)
	}
	config, err := sm.GetNetworkConfig(ctx)
	if err != nil {
		return fmt.Errorf("read the network configuration %s: %w", o.netConfig, err)
	}
	iface, err := lookupInterface(ctx, sm, config, o)
	if err != nil {
		return err
	}
	be, err := backend.NewManager(ctx, sm, iface).GetBackend(config.BackendType)
	if err != nil {
		return fmt.Errorf("backend %q: %w", config.BackendType, err)
	}
	network, err := be.RegisterNetwork(ctx, &wg, config)
	if err != nil {
		return fmt.Errorf("register the network of backend %q: %w", config.BackendType, err)
	}
	if err := setRules(ctx, config, network.Lease(), o); err != nil {
		return err
	}
	lease := network.Lease()
	if err := sm.HandleSubnetFile(o.subnetFile, config, o.ipMasq, lease.Subnet, lease.IPv6Subnet, network.MTU()); err != nil {
		return fmt.Errorf("write the subnet file %s: %w", o.subnetFile, err)
	}
	ready()
	klog.InfoS("Wrote the subnet file", "path", o.subnetFile, "subnet", lease.Subnet.String(), "mtu", network.MTU())
	wg.Go(func() { network.Run(ctx) })
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return fmt.Errorf("tell systemd that the network is ready: %w", err)
	}
	if err := sm.CompleteLease(ctx, lease, &wg); err != nil {
		return fmt.Errorf("set the node's network condition: %w", err)
	}
	<-ctx.Done()
	return nil
}

// lookupInterface gives the interface between hosts: the first of --iface
// that exists, else the one of the default route. A public address stored at
// the node object (annotation public-ip-overwrite) wins over the flag.
func lookupInterface(ctx context.Context, sm subnet.Manager, config *subnet.Config, o options) (*backend.ExternalInterface, error) {
	stack, err := ipmatch.GetIPFamily(config.EnableIPv4, config.EnableIPv6)
	if err != nil {
		return nil, fmt.Errorf("address family of %s: %w", o.netConfig, err)
	}
	public := ipmatch.PublicIPOpts{PublicIP: o.publicIP}
	stored, stored6 := sm.GetStoredPublicIP(ctx)
	if stored != "" {
		public.PublicIP = stored
	}
	public.PublicIPv6 = stored6
	names := o.ifaces
	if len(names) == 0 {
		names = []string{public.PublicIP} // an empty name is the default route's interface
	}
	var last error
	for _, name := range names {
		found, err := ipmatch.LookupExtIface(name, "", "", stack, public)
		if err == nil && found != nil {
			return found, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no interface between hosts found (--iface %q): %w", o.ifaces, last)
}
