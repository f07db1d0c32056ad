package resource

import "strings"

// RecordPath is where a host keeps the list of what was ever put on it.
const RecordPath = "/var/lib/clusterctl/installed"

// KindRecord is the sort of Record.
const KindRecord Kind = "record"

// Record is a list on the host of the paths that are put there, besides those in directories that
// are the cluster's own. It only grows, so that what an earlier spec put there is found and removed
// when the cluster goes.
type Record struct {
	Host  string
	Paths []string // sorted
}

func (r Record) Key() Key       { return Key{r.Host, KindRecord, RecordPath} }
func (r Record) Digest() string { return SumStrings(r.Paths...) }
func (r Record) Title() string  { return "record of what is put on the host" }
func (Record) resource()        {}

// Own tells whether a path is in a directory that goes as a whole.
func Own(path string) bool {
	for _, dir := range []string{"/opt/clusterctl/", "/etc/kubernetes/", "/var/lib/clusterctl/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
