package amazon

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// values are those of a list in a form: InstanceId.1, InstanceId.2 and so on.
func values(form url.Values, list string) []string {
	var out []string
	for i := 1; ; i++ {
		v, ok := form[fmt.Sprintf("%s.%d", list, i)]
		if !ok {
			return out
		}
		out = append(out, v...)
	}
}

// items are the structures of a list in a form: Filter.1.Name and Filter.1.Value.1 are of the first one.
func items(form url.Values, list string) []url.Values {
	var out []url.Values
	for i := 1; ; i++ {
		one := url.Values{}
		for key, v := range form {
			if field, ok := strings.CutPrefix(key, fmt.Sprintf("%s.%d.", list, i)); ok {
				one[field] = v
			}
		}
		if len(one) == 0 {
			return out
		}
		out = append(out, one)
	}
}

// tagKey is where a tag of a thing to be made is named, in EC2's and in load balancing's way.
var tagKey = regexp.MustCompile(`^(TagSpecification\.1\.Tag|Tags\.member)\.\d+\.Key$`)

// requestTags are those that a thing shall be made with.
func requestTags(form url.Values) map[string]any {
	out := map[string]any{}
	for key, v := range form {
		if tagKey.MatchString(key) {
			out[v[0]] = form.Get(strings.TrimSuffix(key, "Key") + "Value")
		}
	}
	return out
}

// filtered are the things that a request's filters let through; of tells what a thing has where a
// filter looks.
func filtered(form url.Values, all things, of func(t standin.Thing, filter string) ([]string, bool)) (things, error) {
	out := slices.Clone(all)
	for _, f := range items(form, "Filter") {
		name, wanted := f.Get("Name"), values(f, "Value")
		known := true
		out = slices.DeleteFunc(out, func(t standin.Thing) bool {
			have, ok := of(t, name)
			known = known && ok
			return !slices.ContainsFunc(have, func(v string) bool { return slices.Contains(wanted, v) })
		})
		if !known {
			return nil, refusal{"InvalidParameterValue", "the stand-in does not know the filter " + name}
		}
	}
	return out, nil
}
