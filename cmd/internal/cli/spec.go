package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clusterctl/cmd/internal/view"
	"clusterctl/provision/spec"

	"github.com/spf13/cobra"
)

// newSpecCommand makes "clusterctl spec": it works on spec files alone and reaches no host.
func newSpecCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spec",
		Short: "Start, check and describe spec files",
	}
	cmd.AddCommand(newSpecInitCommand(streams), newSpecValidateCommand(streams), newSpecSchemaCommand(streams))
	return cmd
}

// specInitOptions are the flags of "clusterctl spec init".
type specInitOptions struct {
	provider, name, kubernetes string
	file                       string
}

func newSpecInitCommand(streams Streams) *cobra.Command {
	o := specInitOptions{file: "-"}
	cmd := &cobra.Command{
		Use:   "init [FILE|-]",
		Short: "Write a spec file with comments, to start from",
		Long: "Writes a complete spec file with comments, to standard output or to FILE.\n" +
			"A file that exists is never overwritten.",
		Example: "  clusterctl spec init --provider local dev.yaml\n  clusterctl spec init --provider ssh --name prod prod.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.file = args[0]
			}
			return o.run(streams)
		},
	}
	kinds := strings.Join(spec.ExampleKinds(), " or ")
	cmd.Flags().StringVar(&o.provider, "provider", spec.ExampleKinds()[0], "where hosts come from: `"+kinds+"`")
	cmd.Flags().StringVar(&o.name, "name", "", "the cluster's `name` (default dev)")
	cmd.Flags().StringVar(&o.kubernetes, "kubernetes", "", "the Kubernetes `version`, as x.y.z")
	return cmd
}

func (o specInitOptions) run(streams Streams) error {
	text, err := spec.New(o.provider, o.name, o.kubernetes)
	if err != nil {
		return &UsageError{err}
	}
	if o.file == "-" {
		_, err := streams.Out.Write(text)
		return err
	}
	return createFile(o.file, text)
}

// createFile writes a new file and refuses to touch one that exists.
func createFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usagef("%s exists already and is not overwritten; choose another name or remove it", path)
	}
	if err != nil {
		return fmt.Errorf("write spec: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half a spec would be refused the next time
		return fmt.Errorf("write spec: %w", err)
	}
	return nil
}

// SpecCheck is the answer of "clusterctl spec validate -o json".
type SpecCheck struct {
	Schema string          `json:"schema"` // version of this shape, always v1
	Valid  bool            `json:"valid"`  // all files are
	Files  []SpecFileCheck `json:"files"`  // in the order of the command line
}

// SpecFileCheck is one file of a SpecCheck.
type SpecFileCheck struct {
	Path     string         `json:"path"`
	Valid    bool           `json:"valid"`
	Cluster  string         `json:"cluster,omitempty"`    // name, when valid
	Version  string         `json:"kubernetes,omitempty"` // version, when valid
	Problems []spec.Problem `json:"problems"`             // by line; never null
}

func newSpecValidateCommand(streams Streams) *cobra.Command {
	var format view.Format
	cmd := &cobra.Command{
		Use:   "validate SPEC...",
		Short: "Check spec files and show all their problems",
		Long: "Reads each file as every other command does and shows all problems of all files. Of a directory it\n" +
			"reads the YAML files that are specs. Clusters that name each other in spec.peers must have pod,\n" +
			"service and host addresses that are apart. Exits with 3 when there are problems. No host is reached.",
		Example: "  clusterctl spec validate cluster.yaml\n  clusterctl spec validate clusters/ -o json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return validateSpecs(streams, format, args)
		},
	}
	addOutputFlag(cmd, &format)
	return cmd
}

// validateSpecs shows the answer for all files, then gives the problems of all as one error.
func validateSpecs(streams Streams, format view.Format, args []string) error {
	paths, err := specPaths(args)
	if err != nil {
		return err
	}
	answer := SpecCheck{Schema: "v1", Valid: true, Files: []SpecFileCheck{}}
	var errs []error
	for _, loaded := range spec.LoadAll(paths) {
		check, err := checkSpec(loaded)
		answer.Files = append(answer.Files, check)
		if err != nil {
			answer.Valid = false
			errs = append(errs, err)
		}
	}
	if err := showSpecCheck(streams.Out, format, answer); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// checkSpec is the answer for one file. One that cannot be read is a problem of the command line's
// like one that is wrong.
func checkSpec(l spec.Loaded) (SpecFileCheck, error) {
	check := SpecFileCheck{Path: l.Path, Problems: []spec.Problem{}}
	if wrong, ok := errors.AsType[*spec.Error](l.Err); ok {
		check.Problems = wrong.Problems
		return check, l.Err
	}
	if l.Err != nil {
		check.Problems = append(check.Problems, spec.Problem{Message: l.Err.Error()})
		return check, &UsageError{l.Err}
	}
	check.Valid, check.Cluster, check.Version = true, l.Cluster.Metadata.Name, l.Cluster.Spec.Kubernetes.Version
	return check, nil
}

// showSpecCheck writes the files that are valid; as JSON, all. Problems as text are the error.
func showSpecCheck(w io.Writer, format view.Format, answer SpecCheck) error {
	if format == view.JSON {
		return view.NewOutput(w, format).JSON(answer)
	}
	for _, f := range answer.Files {
		if !f.Valid {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: valid, cluster %s, Kubernetes %s\n", f.Path, f.Cluster, f.Version); err != nil {
			return err
		}
	}
	return nil
}

func newSpecSchemaCommand(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of spec files, for editors",
		Long: "Prints the JSON Schema (draft 2020-12) of spec files with a description of every field.\n" +
			"Editors complete and check a file that starts with\n\n  # yaml-language-server: $schema=FILE",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := spec.Schema()
			if err != nil {
				return err
			}
			_, err = streams.Out.Write(text)
			return err
		},
	}
}
