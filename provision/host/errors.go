package host

import (
	"errors"
	"fmt"
)

// ErrPrivilege says that the login user may not run commands as root: sudo is missing, wants a
// password or a terminal, or got a wrong password. It is found in an *UnreachableError.
var ErrPrivilege = errors.New("no root privilege")

// NoSpaceError says that a file did not fit on the host. The file that was there is as it was.
type NoSpaceError struct {
	Host, Path string
	Free, Need int64 // bytes
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("%s: put %s: no space left: %d bytes free, %d needed; free some space and run again",
		e.Host, e.Path, e.Free, e.Need)
}

// UploadError says why the host did not take a file. The file that was there is as it was.
type UploadError struct {
	Host, Path string
	Reason     string
}

func (e *UploadError) Error() string {
	return fmt.Sprintf("%s: put %s: %s; the old file is untouched", e.Host, e.Path, e.Reason)
}
