package view

import (
	"fmt"
	"strings"
)

// Upgrade is the way of a cluster to another version: what upgrade plan shows.
type Upgrade struct {
	Cluster    string            `json:"cluster"`
	Versions   []string          `json:"versions"`         // of Kubernetes on the way, the wanted one last; empty when all runs as wanted
	Former     string            `json:"former,omitempty"` // version that the control plane goes on emulating
	Components []ComponentChange `json:"components"`       // in the order in which they move
	Stages     []Stage           `json:"stages"`           // what is restarted, in order
	Disruption []string          `json:"disruption"`       // what users of the cluster may notice
}

// ComponentChange is one component's way.
type ComponentChange struct {
	Component string   `json:"component"`
	Running   []string `json:"running"` // versions that run now, oldest first; v1.37.2 as v1.36 emulates
	Wanted    string   `json:"wanted"`
}

// Stage is restarts of the same units on several hosts.
type Stage struct {
	Phase   string     `json:"phase"`
	Units   []string   `json:"units"`
	Batches [][]string `json:"batches"` // hosts that are restarted at the same time, one batch after the other
	Drained bool       `json:"drained"` // pods are moved away before
}

// Upgrade writes u.
func (o Output) Upgrade(u Upgrade) error {
	u.Versions, u.Components, u.Stages, u.Disruption = orEmpty(u.Versions), orEmpty(u.Components), orEmpty(u.Stages), orEmpty(u.Disruption)
	answer := struct {
		Schema string `json:"schema"`
		Upgrade
	}{schema, u}
	return o.write(answer, func() string { return o.upgradeText(u) })
}

func (o Output) upgradeText(u Upgrade) string {
	paint := palette(o.Color)
	var b strings.Builder
	head := paint.bold("Cluster " + oneLine(u.Cluster) + ": ")
	if len(u.Components) == 0 {
		return head + "every component runs the wanted version.\n"
	}
	fmt.Fprintf(&b, "%sKubernetes to %s\n", head, oneLine(strings.Join(u.Versions, ", then ")))
	if u.Former != "" {
		b.WriteString(soaks(u.Former))
	}
	b.WriteString("\n")
	var rows [][]string
	for _, c := range u.Components {
		rows = append(rows, []string{c.Component, strings.Join(c.Running, ", "), c.Wanted})
	}
	b.WriteString(o.table([]string{"COMPONENT", "RUNS", "WANTED"}, rows))
	b.WriteString("\n" + paint.bold("ORDER") + "\n")
	b.WriteString("  1. backup: a verified snapshot of etcd\n  2. bundle: new programs on the hosts that run them, beside those that run\n")
	for i, s := range u.Stages {
		fmt.Fprintf(&b, "  %d. %s\n", i+3, oneLine(s.text()))
	}
	b.WriteString("\n" + paint.bold("DISRUPTION") + "\n")
	for _, line := range u.Disruption {
		b.WriteString("  - " + oneLine(line) + "\n")
	}
	return b.String()
}

// text is a stage on one line: etcd: restart etcd on cp-1, then cp-3.
func (s Stage) text() string {
	var batches []string
	for _, hosts := range s.Batches {
		batches = append(batches, strings.Join(hosts, " and "))
	}
	verb := "restart"
	if s.Drained {
		verb = "drain, then restart"
	}
	return fmt.Sprintf("%s: %s %s on %s", s.Phase, verb, strings.Join(s.Units, ", "), strings.Join(batches, ", then "))
}

// Paused is what upgrade says when it ends where it was told to.
type Paused struct {
	Cluster string `json:"cluster"`
	After   string `json:"pausedAfter"` // host or phase
	Spec    string `json:"spec"`        // path
}

// Paused writes the end of a part of an upgrade and what to do next.
func (o Output) Paused(p Paused) error {
	answer := struct {
		Schema string `json:"schema"`
		Paused
	}{schema, p}
	return o.write(answer, func() string {
		return fmt.Sprintf("Cluster %s: paused after %s. To go on: clusterctl upgrade %s\n", oneLine(p.Cluster), oneLine(p.After), oneLine(p.Spec))
	})
}
