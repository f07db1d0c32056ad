package layout

import (
	"fmt"
	"strings"
)

// StrangersError says that a cloud has machines of the cluster that its state does not have. Making
// the cluster anew would leave them behind, or put two machines in one place.
type StrangersError struct {
	Cloud, Cluster string
	Mark           string // by what they are known: tagged ...
	IDs            []string
	Founded        bool // there is a state; it lacks these
}

func (e *StrangersError) Error() string {
	ids := strings.Join(e.IDs, ", ")
	if !e.Founded {
		return fmt.Sprintf("there is no state of cluster %s, but %s has machines %s: %s; restore the state directory from a backup, or delete them if they are of no use", e.Cluster, e.Cloud, e.Mark, ids)
	}
	return fmt.Sprintf("%s has machines %s that the state of cluster %s does not know: %s; delete them, or take the mark off", e.Cloud, e.Mark, e.Cluster, ids)
}

// ExitCode is the contract's code for what is refused.
func (e *StrangersError) ExitCode() int { return 3 }
