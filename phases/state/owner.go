package state

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// locksFile lists the locks of the kernel: proc_locks(5).
const locksFile = "/proc/locks"

// LockOwner tells who holds the lock that LockLocal takes; false when nobody does. It takes no
// lock itself, which would turn others away.
func (d *Dir) LockOwner() (Holder, bool, error) {
	f, err := os.Open(d.file(lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Holder{}, false, fmt.Errorf("lock: %w", err)
	}
	held, err := isLocked(info)
	if err != nil || !held {
		return Holder{}, false, err
	}
	return readHolder(f), true, nil
}

// isLocked looks the file's inode up in the kernel's list. The device is left out: file systems
// in layers show another there than stat(2) does.
func isLocked(info os.FileInfo) (bool, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, errors.New("lock: this system does not tell a file's inode")
	}
	f, err := os.Open(locksFile)
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	inode := ":" + strconv.FormatUint(stat.Ino, 10)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:393217 0 EOF
		if fields := strings.Fields(lines.Text()); len(fields) > 5 && fields[1] == "FLOCK" && strings.HasSuffix(fields[5], inode) {
			return true, nil
		}
	}
	return false, lines.Err()
}
