package view

import (
	"strconv"
	"time"
)

// Locks is who holds a cluster's lock.
type Locks struct {
	Cluster string `json:"cluster"`
	Locks   []Lock `json:"locks"` // none: nobody changes the cluster
}

// Lock is one place where the lock is held.
type Lock struct {
	Where   string    `json:"where"`   // host cp-1
	Holder  string    `json:"holder"`  // user@machine
	Process int       `json:"process"` // on the holder's machine
	Since   time.Time `json:"since"`   // by the holder's clock
	Command string    `json:"command"`
}

// Locks writes who holds the lock; JSON is {"schema":"v1","cluster":...,"locks":[...]}.
func (o Output) Locks(l Locks) error {
	l.Locks = orEmptyCopy(l.Locks)
	for i := range l.Locks {
		l.Locks[i].Since = l.Locks[i].Since.UTC()
	}
	answer := struct {
		Schema string `json:"schema"`
		Locks
	}{schema, l}
	return o.write(answer, func() string {
		if len(l.Locks) == 0 {
			return "Nobody holds the lock of cluster " + oneLine(l.Cluster) + ".\n"
		}
		var rows [][]string
		for _, lock := range l.Locks {
			rows = append(rows, []string{lock.Where, lock.Holder, strconv.Itoa(lock.Process), lock.Since.Format(time.RFC3339), lock.Command})
		}
		return o.table([]string{"LOCKED ON", "BY", "PROCESS", "SINCE", "RUNNING"}, rows)
	})
}
