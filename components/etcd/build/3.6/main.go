// Command etcd is the etcd server, etcdctl and etcdutl in one static binary;
// the name it is started by picks the program.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcdctl":
		ctlv3.MustStart()
	case "etcdutl":
		if err := newEtcdutl().Execute(); err != nil {
			os.Exit(1)
		}
	default:
		fmt.Fprintf(os.Stderr, "%s: start this binary as etcd, etcdctl or etcdutl (a symlink of that name)\n", name)
		os.Exit(2)
	}
}

// newEtcdutl puts upstream's etcdutl commands under a root: upstream keeps its
// own root in a main package, which cannot be imported.
func newEtcdutl() *cobra.Command {
	root := &cobra.Command{
		Use:   "etcdutl",
		Short: "An administrative command line tool for etcd3.",
	}
	flags := root.PersistentFlags()
	flags.StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple", "output format (fields, json, protobuf, simple, table)")
	root.AddCommand(
		etcdutl.NewDefragCommand(),
		etcdutl.NewSnapshotCommand(),
		etcdutl.NewHashKVCommand(),
		etcdutl.NewVersionCommand(),
		etcdutl.NewMigrateCommand(),
	)
	return root
}
