package lock

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"clusterctl/phases/state"
	"clusterctl/provision/host"
)

//go:embed owner.sh
var ownerScript string

// Owner is who holds the lock on a host.
type Owner struct {
	Host    string
	Process int // that holds it, on the host
	Holder  state.Holder
}

// OwnerOn tells who holds the lock on a host; false when nobody does. It changes nothing.
func OwnerOn(ctx context.Context, h host.Host, o Options) (Owner, bool, error) {
	res, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", ownerScript, "clusterctl-owner", o.withDefaults(1).File}, Root: true})
	if err != nil {
		return Owner{}, false, err
	}
	process, who, found := strings.Cut(string(res.Stdout), "\n")
	if !found {
		return Owner{}, false, nil
	}
	out := Owner{Host: h.Name()}
	if out.Process, err = strconv.Atoi(process); err == nil {
		err = json.Unmarshal([]byte(who), &out.Holder)
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("%s: read who holds the lock: %w", h.Name(), err)
	}
	return out, true, nil
}

// Break takes the lock away from an owner that OwnerOn gave: its run stops before its next change.
// One that has let go meanwhile is left alone.
func Break(ctx context.Context, h host.Host, owner Owner, o Options) error {
	args := []string{"sh", "-c", ownerScript, "clusterctl-owner", o.withDefaults(1).File, strconv.Itoa(owner.Process)}
	if _, err := h.Run(ctx, host.Cmd{Args: args, Root: true}); err != nil {
		return fmt.Errorf("take the lock away: %w", err)
	}
	return nil
}
