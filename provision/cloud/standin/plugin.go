// Package standin is a cloud for tests: a resource provider that Pulumi's engine runs like a real
// one, and whose world is a directory. It checks what it is asked for against the provider's own
// field names, gives ids and addresses, and fails as it is told. One program stands in for every
// cloud; which one it is says the name that it is run by.
package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// What tells a stand-in about its world.
const (
	// DirVariable names the world's directory.
	DirVariable = "CLUSTERCTL_STANDIN_DIR"
	// FieldsVariable names a file with the fields that there are, see Fields; unset: any.
	FieldsVariable = "CLUSTERCTL_STANDIN_FIELDS"
)

const prefix = "pulumi-resource-"

// Main is the plugin's whole life, where this process was started as one: an engine runs the
// program that Install put there. Else it returns at once.
func Main() {
	pkg, ok := strings.CutPrefix(filepath.Base(os.Args[0]), prefix)
	if !ok {
		return
	}
	version := strings.TrimPrefix(filepath.Base(filepath.Dir(os.Args[0])), "resource-"+pkg+"-v")
	if err := serve(pkg, version); err != nil {
		panic(err) // the engine shows it as the plugin's end
	}
	os.Exit(0)
}

// Install puts the program at path where an engine with this home finds it as the plugin of a
// package, in exactly the version that is asked for.
func Install(path, home, pkg, version string) error {
	dir := filepath.Join(home, "plugins", "resource-"+pkg+"-v"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	target := filepath.Join(dir, prefix+pkg)
	if err := os.Link(path, target); err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(target, data, 0o755)
}

// serve answers an engine until it has no more questions. version is what it says it is.
func serve(pkg, version string) error {
	cloud := &cloud{world: &World{Dir: os.Getenv(DirVariable)}, version: semver.MustParse(version)}
	if path := os.Getenv(FieldsVariable); path != "" {
		var err error
		if cloud.fields, err = ReadFields(path); err != nil {
			return err
		}
	}
	return provider.Main(pkg, func(*provider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return plugin.NewProviderServer(cloud), nil
	})
}

// cloud is the provider.
type cloud struct {
	plugin.UnimplementedProvider
	world   *World
	fields  Fields
	version semver.Version
}

func (c *cloud) Handshake(context.Context, plugin.ProviderHandshakeRequest) (*plugin.ProviderHandshakeResponse, error) {
	return &plugin.ProviderHandshakeResponse{AcceptSecrets: true, AcceptResources: true, AcceptOutputs: true}, nil
}

func (c *cloud) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	return plugin.PluginInfo{Version: &c.version}, nil
}

func (c *cloud) CheckConfig(_ context.Context, r plugin.CheckConfigRequest) (plugin.CheckConfigResponse, error) {
	return plugin.CheckConfigResponse{Properties: r.News}, nil
}

func (c *cloud) DiffConfig(context.Context, plugin.DiffConfigRequest) (plugin.DiffConfigResponse, error) {
	return plugin.DiffResult{Changes: plugin.DiffNone}, nil
}

func (c *cloud) Configure(context.Context, plugin.ConfigureRequest) (plugin.ConfigureResponse, error) {
	return plugin.ConfigureResponse{}, nil
}

func (c *cloud) SignalCancellation(context.Context) error { return nil }
func (c *cloud) Close() error                             { return nil }

func (c *cloud) Attach(string) error { return nil }

// Check refuses fields that the real provider does not have, already at the preview.
func (c *cloud) Check(_ context.Context, r plugin.CheckRequest) (plugin.CheckResponse, error) {
	var failures []plugin.CheckFailure
	if c.fields != nil {
		for _, p := range c.fields.Problems(string(r.Type), r.News.Mappable()) {
			failures = append(failures, plugin.CheckFailure{Property: resource.PropertyKey(p.Field), Reason: p.Text})
		}
	}
	return plugin.CheckResponse{Properties: r.News, Failures: failures}, nil
}

func (c *cloud) Diff(_ context.Context, r plugin.DiffRequest) (plugin.DiffResult, error) {
	diff := r.OldInputs.Diff(r.NewInputs)
	if diff == nil {
		return plugin.DiffResult{Changes: plugin.DiffNone}, nil
	}
	out := plugin.DiffResult{Changes: plugin.DiffSome, DeleteBeforeReplace: false}
	ignored := map[string]bool{}
	for _, k := range r.IgnoreChanges {
		ignored[k] = true
	}
	for _, k := range diff.ChangedKeys() {
		if ignored[string(k)] {
			continue
		}
		out.ChangedKeys = append(out.ChangedKeys, k)
		if forces(string(r.Type), string(k)) {
			out.ReplaceKeys = append(out.ReplaceKeys, k)
		}
	}
	if len(out.ChangedKeys) == 0 {
		return plugin.DiffResult{Changes: plugin.DiffNone}, nil
	}
	return out, nil
}

func (c *cloud) Create(_ context.Context, r plugin.CreateRequest) (plugin.CreateResponse, error) {
	if r.Preview {
		return plugin.CreateResponse{Properties: r.Properties}, nil
	}
	fault, err := c.begin("create", r.Type, r.Name)
	if err != nil {
		return plugin.CreateResponse{Status: resource.StatusOK}, err
	}
	t, err := c.world.Make(string(r.Type), r.Name, plain(r.Properties))
	if err != nil {
		return plugin.CreateResponse{Status: resource.StatusOK}, err
	}
	switch fault { // the cloud has it, nobody knows
	case Killed:
		if err := syscall.Kill(os.Getppid(), syscall.SIGKILL); err != nil {
			return plugin.CreateResponse{}, err
		}
		os.Exit(1)
	case Orphan:
		os.Exit(1)
	}
	return plugin.CreateResponse{ID: resource.ID(t.ID), Properties: resource.NewPropertyMapFromMap(t.Outputs)}, nil
}

func (c *cloud) Read(_ context.Context, r plugin.ReadRequest) (plugin.ReadResponse, error) {
	if _, err := c.begin("read", r.Type, r.Name); err != nil {
		return plugin.ReadResponse{}, err
	}
	t, err := c.world.find(string(r.Type), string(r.ID))
	if errors.Is(err, errGone) {
		return plugin.ReadResponse{}, nil
	}
	if err != nil {
		return plugin.ReadResponse{}, err
	}
	return plugin.ReadResponse{ReadResult: plugin.ReadResult{
		ID: resource.ID(t.ID), Inputs: resource.NewPropertyMapFromMap(t.Inputs), Outputs: resource.NewPropertyMapFromMap(t.Outputs),
	}}, nil
}

func (c *cloud) Update(_ context.Context, r plugin.UpdateRequest) (plugin.UpdateResponse, error) {
	if r.Preview {
		return plugin.UpdateResponse{Properties: r.NewInputs}, nil
	}
	if _, err := c.begin("update", r.Type, r.Name); err != nil {
		return plugin.UpdateResponse{}, err
	}
	t, err := c.world.Get(string(r.ID))
	if err != nil {
		return plugin.UpdateResponse{}, err
	}
	t.Inputs = plain(r.NewInputs)
	t.Outputs = c.world.outputs(t)
	return plugin.UpdateResponse{Properties: resource.NewPropertyMapFromMap(t.Outputs)}, c.world.Put(t)
}

func (c *cloud) Delete(_ context.Context, r plugin.DeleteRequest) (plugin.DeleteResponse, error) {
	if _, err := c.begin("delete", r.Type, r.Name); err != nil {
		return plugin.DeleteResponse{}, err
	}
	return plugin.DeleteResponse{}, c.world.Delete(string(r.ID))
}

// begin logs a call and lets the fault happen that is due.
func (c *cloud) begin(op string, typ tokens.Type, name string) (Fault, error) {
	if err := c.world.Log(op, string(typ), name); err != nil {
		return "", err
	}
	fault, err := c.world.fault(op, string(typ), name)
	if err != nil {
		return "", err
	}
	switch fault {
	case Fail:
		return fault, fmt.Errorf("%s %s: InsufficientInstanceCapacity: there is no room", op, name)
	case Denied:
		return fault, errors.New("ExpiredToken: the security token included in the request is expired")
	case Slow:
		c.world.wait("go", true)
	}
	return fault, nil
}

// plain is a property map in clear, as a cloud gets it.
func plain(m resource.PropertyMap) map[string]any {
	return m.MapRepl(nil, func(v resource.PropertyValue) (any, bool) {
		if v.IsSecret() {
			return v.SecretValue().Element.MapRepl(nil, nil), true
		}
		if v.IsOutput() && v.OutputValue().Known {
			return v.OutputValue().Element.MapRepl(nil, nil), true
		}
		return nil, false
	})
}
