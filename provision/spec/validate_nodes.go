package spec

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkNodes checks labels and taints as kube-apiserver will.
func (v *validator) checkNodes() {
	for i, pool := range v.c.Spec.Workers {
		path := at("workers").Index(i)
		v.checkLabels(path.Child("labels"), pool.Labels)
		v.checkTaints(path.Child("taints"), pool.Taints)
	}
	for h, path := range v.c.hosts() {
		v.checkLabels(path.Child("labels"), h.Labels)
	}
}

func (v *validator) checkLabels(path *field.Path, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, message := range content.IsLabelKey(key) {
			v.add(path.Key(key), "label key: "+message, "")
		}
		for _, message := range content.IsLabelValue(labels[key]) {
			v.add(path.Key(key), "label value: "+message, "")
		}
	}
}

// checkTaints also refuses a taint that is there twice: a node has one of each key and effect.
func (v *validator) checkTaints(path *field.Path, taints []Taint) {
	seen := v.distinct()
	for i, t := range taints {
		p := path.Index(i)
		if t.Key == "" {
			continue
		}
		for _, message := range content.IsLabelKey(t.Key) {
			v.add(p.Child("key"), "taint key: "+message, "")
		}
		for _, message := range content.IsLabelValue(t.Value) {
			v.add(p.Child("value"), "taint value: "+message, "")
		}
		seen.add(fmt.Sprintf("%s:%s", t.Key, t.Effect), p, "the taint %s")
	}
}
