package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// netnsDir has the named network namespaces, as ip-netns(8) describes.
const netnsDir = "/run/netns"

func netnsPath(name string) string { return filepath.Join(netnsDir, name) }

// namespace is a named network namespace, opened, with a netlink socket in it.
type namespace struct {
	fd   netns.NsHandle
	link *netlink.Handle
}

func (n namespace) close() {
	n.link.Close()
	n.fd.Close()
}

// openNamespace opens the namespace of a name, and makes it when there is none.
func openNamespace(name string) (namespace, error) {
	if !isNamespace(name) {
		if err := makeNamespace(name); err != nil {
			return namespace{}, fmt.Errorf("make network namespace %s: %w", name, err)
		}
	}
	fd, err := netns.GetFromName(name)
	if err != nil {
		return namespace{}, fmt.Errorf("open network namespace %s: %w", name, err)
	}
	return enter(name, fd)
}

// ownNamespace opens this process's namespace: the machine's.
func ownNamespace() (namespace, error) {
	fd, err := netns.Get()
	if err != nil {
		return namespace{}, fmt.Errorf("open the machine's network namespace: %w", err)
	}
	return enter("of the machine", fd)
}

func enter(name string, fd netns.NsHandle) (namespace, error) {
	link, err := netlink.NewHandleAt(fd, unix.NETLINK_ROUTE)
	if err != nil {
		return namespace{}, errors.Join(fmt.Errorf("open network namespace %s: %w", name, err), fd.Close())
	}
	return namespace{fd, link}, nil
}

// isNamespace says whether a name stands for a namespace. After a crash between the two steps of
// making one, or after a boot where /run is kept, it can be an empty file.
func isNamespace(name string) bool {
	var st unix.Statfs_t
	return unix.Statfs(netnsPath(name), &st) == nil && st.Type == unix.NSFS_MAGIC
}

func makeNamespace(name string) error {
	if err := os.Remove(netnsPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := make(chan error)
	go func() {
		// Making a namespace moves the thread into it. The thread is never unlocked, so that it
		// ends with this goroutine.
		runtime.LockOSThread()
		fd, err := netns.NewNamed(name)
		if err == nil {
			err = fd.Close()
		}
		made <- err
	}()
	return <-made
}

// deleteNamespace takes a name away; the namespace goes with its last process.
func deleteNamespace(name string) error {
	var err error
	if isNamespace(name) {
		err = netns.DeleteNamed(name)
	} else if err = os.Remove(netnsPath(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete network namespace %s: %w", name, err)
	}
	return nil
}
