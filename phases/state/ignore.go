package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ignoreName keeps the state of all clusters out of Git: whoever has it owns the clusters. Of a
// cluster whose secrets are encrypted, the files that may be committed are taken in again.
const ignoreName = ".gitignore"

// committed are the files that may be in Git when the secrets are encrypted, ofProvider what may of
// provision/cloud's.
var (
	committed  = []string{sealedName, readersName, identityName, inventoryName, journalName}
	ofProvider = []string{"ssh/", "ssh/known_hosts"}
)

func (d *Dir) ignore() error {
	path := filepath.Join(filepath.Dir(d.path), ignoreName)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the state out of Git: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(have), "\n"), "\n")
	if len(have) == 0 {
		lines = nil
	}
	missing := slices.DeleteFunc(d.ignoreLines(), func(line string) bool { return slices.Contains(lines, line) })
	if len(missing) == 0 {
		return nil
	}
	if err := replaceFile(path, []byte(strings.Join(append(lines, missing...), "\n")+"\n")); err != nil {
		return fmt.Errorf("keep the state out of Git: %w", err)
	}
	return nil
}

// ignoreLines are what the file must have: gitignore(5) lets the last pattern that fits decide.
func (d *Dir) ignoreLines() []string {
	lines := []string{"*"}
	if !d.Sealed.on() || d.Shared != nil {
		return lines
	}
	name := filepath.Base(d.path)
	lines = append(lines, "!/.gitignore", "!/"+name+"/")
	for _, file := range slices.Concat(committed, ofProvider) {
		lines = append(lines, "!/"+name+"/"+file)
	}
	return lines
}
