// Command bench measures what the project promises about speed and size, and prints one table:
// figure, measured, target. It is no test: a busy machine only makes it slower.
//
//	go run ./e2e/bench                 everything
//	go run ./e2e/bench -only plan,cli  some of it
//
// Bringing clusters up needs root, the program in bin and a bundle. The clusters have names of
// their own and are taken down at the end, also after Ctrl-C.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"clusterctl/provision/cloud/standin"
)

// row is one line of the table.
type row struct{ figure, measured, target, verdict string }

// measurement is a group of figures that are measured together.
type measurement struct {
	name, doc string
	run       func(context.Context, *bench) ([]row, error)
}

// measurements in the order in which they are taken. Clusters come first, while the machine is quiet
// and this process small: a child's peak memory is never told as less than its parent's at the start
// (getrusage(2), ru_maxrss), and the simulated hosts and the engine make this process large.
var measurements = []measurement{
	{"cli", "size and start-up of the program", measureCLI},
	{"local", "up of examples/local.yaml, cold and again", measureLocal},
	{"ha", "up of examples/local-ha.yaml, cold and again", measureHA},
	{"upgrade", "upgrade of examples/local-ha.yaml by one minor version, under writes", measureUpgrade},
	{"resume", "up of examples/local.yaml, killed twenty times", measureResume},
	{"bundle", "size of the bundle", measureBundle},
	{"plan", "plan for 1,000 SSH hosts, as a model", measurePlan},
	{"hosts", "plan and up without changes with 1,000 simulated SSH hosts", measureHosts},
	{"cloud", "Pulumi's engine with 50 machines of a stand-in", measureCloud},
}

// bench is what all measurements share.
type bench struct {
	program string // the program under test
	cache   string
	work    string        // specs and states
	verbose bool          // show what the program says
	maxRSS  int64         // bytes, of all runs of the program
	maxRun  string        // the run that took so much
	cpu     time.Duration // of the last run of the program, on all processors
}

func main() {
	standin.Main() // this program is also the plugin of the cloud that is measured
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError) // Pulumi's SDK has put its own into flag's
	only := flags.String("only", "", "comma-separated `names` of what to measure: "+names())
	limit := flags.Duration("timeout", 30*time.Minute, "give up after this `time`")
	verbose := flags.Bool("v", false, "show what the program says")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	wanted, err := choose(*only)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	b, err := newBench()
	if err != nil {
		return err
	}
	b.verbose = *verbose
	defer os.RemoveAll(b.work)
	var rows []row
	var errs []error
	for _, m := range wanted {
		fmt.Fprintf(os.Stderr, "measuring %s: %s\n", m.name, m.doc)
		more, err := m.run(ctx, b)
		rows = append(rows, more...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if b.maxRSS > 0 {
		rows = append(rows, figure("memory of any run (most: "+b.maxRun+")", float64(b.maxRSS)/1e6, "MB", 150))
	}
	return errors.Join(append(errs, printTable(rows))...)
}

func names() string {
	var out []string
	for _, m := range measurements {
		out = append(out, m.name)
	}
	return strings.Join(out, ", ")
}

func choose(only string) ([]measurement, error) {
	if only == "" {
		return measurements, nil
	}
	var out []measurement
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(measurements, func(m measurement) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %s: there are %s", name, names())
		}
		out = append(out, measurements[i])
	}
	return out, nil
}

func newBench() (*bench, error) {
	b := &bench{cache: os.Getenv("CLUSTERCTL_CACHE")}
	if b.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		b.cache = filepath.Join(dir, "clusterctl")
	}
	var err error
	if b.program, err = filepath.Abs(cmp.Or(os.Getenv("CLUSTERCTL_BIN"), "bin/clusterctl")); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.program); err != nil {
		return nil, fmt.Errorf("%w; run: make build", err)
	}
	b.work, err = os.MkdirTemp("", "clusterctl-bench-")
	return b, err
}

// figure is a row with a target that the measured value should not exceed; 0: there is none.
func figure(name string, value float64, unit string, most float64) row {
	r := row{figure: name, measured: fmt.Sprintf("%.2f %s", value, unit), target: "-"}
	if most > 0 {
		r.target, r.verdict = fmt.Sprintf("<= %g %s", most, unit), "ok"
		if value > most {
			r.verdict = fmt.Sprintf("MISSED by %.0f %%", (value/most-1)*100)
		}
	}
	return r
}

func printTable(rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tTARGET\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.figure, r.measured, r.target, r.verdict)
	}
	return w.Flush()
}
