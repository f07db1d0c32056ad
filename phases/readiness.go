package phases

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	policyv1 "k8s.io/api/policy/v1"

	"clusterctl/phases/drain"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/kube"
	"clusterctl/phases/upgrade"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// readinessTimeout is for all questions of LookForUpgrade together.
const readinessTimeout = 30 * time.Second

// LookForUpgrade asks etcd and the API for what may stand in the way of an upgrade.
func LookForUpgrade(ctx context.Context, e *Env, parallel int) upgrade.Seen {
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	planes := e.Cluster.Inventory.ControlPlanes()
	out := upgrade.Seen{Quota: e.Cluster.Spec.EtcdQuota(), Members: make([]upgrade.Member, len(planes))}
	apis := make([][]upgrade.API, len(planes))
	index := make([]int, len(planes))
	for i := range index {
		index[i] = i
	}
	err := host.ForEach(ctx, parallel, index, func(ctx context.Context, i int) (err error) {
		st, memberErr := e.EtcdMember(ctx, planes[i].Name)
		out.Members[i] = member(planes[i], st, memberErr)
		apis[i], err = e.deprecated(ctx, planes[i].Name)
		return err
	})
	if err == nil {
		var all []policyv1.PodDisruptionBudget
		all, err = drain.Budgets(ctx, e.api)
		out.Budgets = drain.Tight(all)
	}
	if err == nil {
		out.Custom, err = customAPIs(ctx, e.api)
	}
	out.Silent = err
	out.APIs = slices.Concat(apis...)
	slices.SortFunc(out.APIs, func(a, b upgrade.API) int {
		return strings.Compare(a.Group+a.Version+a.Resource, b.Group+b.Version+b.Resource)
	})
	out.APIs = slices.Compact(out.APIs)
	return out
}

func member(h inventory.Host, st etcdapi.Status, err error) upgrade.Member {
	return upgrade.Member{Host: h.Name, Size: st.DBSize, Alarms: st.Errors, Err: err}
}

func customAPIs(ctx context.Context, api *kube.Client) ([]upgrade.CustomAPI, error) {
	list, err := api.CustomAPIs(ctx)
	var out []upgrade.CustomAPI
	for _, a := range list {
		out = append(out, upgrade.CustomAPI(a))
	}
	return out, err
}

// deprecatedMetric is one for each deprecated API that was asked for since the server started
// (Kubernetes, "Kubernetes Deprecation Policy", REST resources).
const deprecatedMetric = "apiserver_requested_deprecated_apis"

// deprecated asks one API server which deprecated APIs somebody uses. Each server knows only what
// it was asked itself.
func (e *Env) deprecated(ctx context.Context, name string) ([]upgrade.API, error) {
	api, err := e.apiOn(name)
	if err != nil {
		return nil, err
	}
	text, err := api.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: read the API server's metrics: %w", name, err)
	}
	return deprecatedAPIs(text)
}

// deprecatedAPIs reads the metric out of all others, which are thousands of lines.
func deprecatedAPIs(text []byte) ([]upgrade.API, error) {
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(deprecatedMetric+"{")) {
			lines.Write(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&lines)
	if err != nil {
		return nil, fmt.Errorf("read metric %s: %w", deprecatedMetric, err)
	}
	var out []upgrade.API
	for _, m := range families[deprecatedMetric].GetMetric() {
		out = append(out, upgrade.API{Group: label(m, "group"), Version: label(m, "version"), Resource: label(m, "resource"), Removed: label(m, "removed_release")})
	}
	return out, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
