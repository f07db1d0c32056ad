package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Thing is one resource in the state.
type Thing struct {
	URN, Type, Name, ID, Parent string
	Inputs                      map[string]any
	Protected                   bool
}

// State is what the engine knows of the cluster.
type State struct {
	Exists  bool
	Things  []Thing
	Pending []Thing        // begun by a run that was cut off: they may be there
	Outputs map[string]any // of the program
}

// State reads the state. It changes nothing.
func (e *Engine) State(ctx context.Context) (State, error) {
	if !e.Exists() {
		return State{}, nil
	}
	s, ok, err := e.present(ctx)
	if err != nil || !ok {
		return State{}, err
	}
	exported, err := s.Export(ctx)
	if err != nil {
		return State{}, e.explain("read the cloud's state", err, nil)
	}
	return decode(exported)
}

func decode(exported apitype.UntypedDeployment) (State, error) {
	var d apitype.DeploymentV3
	if len(exported.Deployment) > 0 {
		if err := json.Unmarshal(exported.Deployment, &d); err != nil {
			return State{}, fmt.Errorf("read the cloud's state: %w", err)
		}
	}
	out := State{Exists: true}
	for _, r := range d.Resources {
		if r.Type == resource.RootStackType {
			out.Outputs = r.Outputs
			continue
		}
		if !r.Delete {
			out.Things = append(out.Things, thing(r))
		}
	}
	for _, op := range d.PendingOperations {
		if op.Type == apitype.OperationTypeCreating {
			out.Pending = append(out.Pending, thing(op.Resource))
		}
	}
	return out, nil
}

func thing(r apitype.ResourceV3) Thing {
	return Thing{
		URN: string(r.URN), Type: string(r.Type), Name: r.URN.Name(), ID: string(r.ID), Parent: string(r.Parent), Inputs: r.Inputs, Protected: r.Protect,
	}
}
