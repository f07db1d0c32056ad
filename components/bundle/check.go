package bundle

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"clusterctl/components/release"
)

// checkTimeout bounds one question to a program.
const checkTimeout = time.Minute

// VersionError says that a program does not answer with its pinned version.
type VersionError struct {
	Component, Artifact string
	Question            string // the command line
	Want, Got           string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("component %s, artifact %s: %q answers %q, want %q: the linker's -X path or the pinned version is wrong",
		e.Component, e.Artifact, e.Question, e.Got, e.Want)
}

// ArchError says that a program is made for another machine, or is not static.
type ArchError struct{ Artifact, Want, Got string }

func (e *ArchError) Error() string {
	return fmt.Sprintf("artifact %s is %s, want %s", e.Artifact, e.Got, e.Want)
}

// checkProgram asks the program at path all questions of its release entry. A
// program for another machine is asked too when this one can run it.
func checkProgram(ctx context.Context, component string, a release.Artifact, path, goos, goarch string) error {
	if err := checkELF(a.Name, path, goarch); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "clusterctl-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	for _, c := range a.Checks {
		answer, err := ask(ctx, dir, path, c)
		if errors.Is(err, syscall.ENOEXEC) && (goos != runtime.GOOS || goarch != runtime.GOARCH) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("component %s, artifact %s: %w", component, a.Name, err)
		}
		got := strings.TrimSpace(answer)
		if m := regexp.MustCompile(c.Pattern).FindStringSubmatch(answer); m != nil {
			got = m[1]
		}
		if got != c.Want {
			return &VersionError{Component: component, Artifact: a.Name, Question: strings.Join(c.Args, " "), Want: c.Want, Got: got}
		}
	}
	return nil
}

// ask starts the program by the name that the check wants, in an empty
// directory and an environment of its own, and gives what it said.
func ask(ctx context.Context, dir, path string, c release.Check) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	link := filepath.Join(dir, c.Args[0])
	if err := os.Symlink(path, link); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	agents := make(chan string, 100)
	args := slices.Clone(c.Args[1:])
	if c.Server {
		url, stop, err := listenForAgents(agents)
		if err != nil {
			return "", err
		}
		defer stop()
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], release.ServerArg, url)
		}
	}
	cmd := exec.CommandContext(ctx, link, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %q: %w\n%s", strings.Join(c.Args, " "), err, lastLines(string(out), 10))
	}
	if !c.Server {
		return string(out), nil
	}
	select {
	case agent := <-agents:
		return agent, nil
	default:
		return "", fmt.Errorf("run %q: it asked no server", strings.Join(c.Args, " "))
	}
}

// listenForAgents serves empty answers and sends on the User-Agent of requests.
func listenForAgents(agents chan<- string) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the program under test: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case agents <- r.UserAgent():
		default: // one is enough
		}
	})}
	go server.Serve(listener)
	return "http://" + listener.Addr().String(), func() { server.Close() }, nil
}

// checkELF holds a program to a machine and to being static: a host need not
// have this machine's libc.
func checkELF(name, path, goarch string) error {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	want, ok := machines[goarch]
	if !ok {
		return fmt.Errorf("architecture %q is not supported: amd64 or arm64", goarch)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	defer f.Close()
	if f.Machine != want {
		return &ArchError{Artifact: name, Want: want.String(), Got: f.Machine.String()}
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return &ArchError{Artifact: name, Want: "static", Got: "linked to a libc of this machine"}
	}
	return nil
}
