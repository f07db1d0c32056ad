package hosttest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Session is one command that a client wants to be executed.
type Session struct {
	Context context.Context // over when the session is closed
	User    string
	Command string // the command line, as sshd would give it to the login shell
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Begin tells the client that the command runs, as the shell line that sshhost sends does
// when it is executed. An Exec that only plays commands calls it first.
func (s Session) Begin() {
	_, _ = io.WriteString(s.Stderr, "clusterctl-start:0\n") // the client is gone when this fails
}

// serve handles one connection until it is over.
func (s *Server) serve(ctx context.Context, nc net.Conn) {
	conn, channels, requests, err := ssh.NewServerConn(nc, s.config)
	if err != nil {
		return // the client knows why
	}
	s.logins.Add(1)
	go answer(requests)
	ctx, cancel := context.WithCancel(ctx)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel()
	open := make(chan struct{}, s.o.MaxSessions)
	for nch := range channels {
		switch nch.ChannelType() {
		case "session":
			select {
			case open <- struct{}{}:
				sessions.Go(func() { s.session(ctx, conn.User(), nch, func() { <-open }) })
			default:
				_ = nch.Reject(ssh.ConnectionFailed, "open failed") // as sshd says it
			}
		case "direct-tcpip", "direct-streamlocal@openssh.com":
			if s.o.NoForwarding {
				_ = nch.Reject(ssh.Prohibited, "open failed")
				continue
			}
			sessions.Go(func() { s.forward(ctx, nch) })
		default:
			_ = nch.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
}

// answer replies to keep-alive requests as sshd does.
func answer(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(false, nil) // the connection is over when this cannot be sent
		}
	}
}

func (s *Server) session(ctx context.Context, user string, nch ssh.NewChannel, release func()) {
	var once sync.Once
	free := func() {
		once.Do(func() {
			s.sessions.Add(-1)
			release()
		})
	}
	n := s.sessions.Add(1)
	for most := s.mostSessions.Load(); n > most && !s.mostSessions.CompareAndSwap(most, n); most = s.mostSessions.Load() {
	}
	defer free()
	ch, requests, err := nch.Accept()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for r := range requests {
		var exec struct{ Command string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &exec) != nil {
			if r.WantReply {
				_ = r.Reply(false, nil)
			}
			continue
		}
		_ = r.Reply(true, nil)
		go drain(requests, cancel)
		s.execs.Add(1)
		code := s.o.Exec(Session{Context: ctx, User: user, Command: exec.Command,
			Stdin: ch, Stdout: ch, Stderr: ch.Stderr()})
		free() // sshd frees the session before it tells the exit code
		_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
		_ = ch.Close()
		return
	}
	_ = ch.Close()
}

// drain takes what comes after exec, and notes when the client closes the session.
func drain(requests <-chan *ssh.Request, over func()) {
	defer over()
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

// runCommand executes cmd for a session and gives the exit code as a shell would.
func runCommand(cmd *exec.Cmd, env []string, s Session) int {
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP) }
	cmd.WaitDelay = time.Second
	cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
	// A pipe of our own: cmd.Stdin would let Wait wait for a client that sends nothing.
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_, _ = io.WriteString(s.Stderr, err.Error()+"\n")
		return 127
	}
	go func() {
		_, _ = io.Copy(stdin, s.Stdin) // ends when either side does
		_ = stdin.Close()
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, os.ErrProcessDone):
		return 0
	case !errors.As(err, &exit):
		return 255
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

// forward connects a channel to where the client wants to go.
func (s *Server) forward(ctx context.Context, nch ssh.NewChannel) {
	network, addr, err := target(nch)
	var conn net.Conn
	if err == nil {
		conn, err = s.o.Dial(ctx, network, addr)
	}
	if err != nil {
		_ = nch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, requests, err := nch.Accept()
	if err != nil {
		_ = conn.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(conn, ch)
		if t, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = t.CloseWrite()
		}
	})
	both.Go(func() {
		_, _ = io.Copy(ch, conn)
		_ = ch.CloseWrite()
	})
	both.Wait()
	_ = ch.Close()
	_ = conn.Close()
}

func target(nch ssh.NewChannel) (network, addr string, err error) {
	if nch.ChannelType() == "direct-tcpip" { // RFC 4254, section 7.2
		var m struct {
			Host       string
			Port       uint32
			OriginHost string
			OriginPort uint32
		}
		err = ssh.Unmarshal(nch.ExtraData(), &m)
		return "tcp", net.JoinHostPort(m.Host, strconv.Itoa(int(m.Port))), err
	}
	var m struct { // OpenSSH PROTOCOL, section 2.4
		Path     string
		Reserved string
		Zero     uint32
	}
	err = ssh.Unmarshal(nch.ExtraData(), &m)
	return "unix", m.Path, err
}
