// Command kubernetes is every Kubernetes program of this release in one
// static binary; the name it is started by picks the program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "kubectl" {
		// kubectl prints its own errors, as its upstream main does.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return
	}
	command := program(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "%s: start this binary as kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy or kubectl (a symlink of that name)\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

// program gives the command of one upstream main, nil for an unknown name.
// Only the asked one is made: the constructors register flags and metrics in
// process-wide registries and would collide.
func program(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return kubeapiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return kubecontrollermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return kubescheduler.NewSchedulerCommand()
	case "kube-proxy":
		return kubeproxy.NewProxyCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background()) // it watches for signals itself
	}
	return nil
}
