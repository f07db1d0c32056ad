package hosttest_test

import (
	"errors"
	"net"
	"slices"
	"testing"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
)

func TestFakeIsAHost(t *testing.T) {
	fresh := func(*testing.T) hosttest.Subject {
		f := hosttest.NewFake("fake")
		f.HandleDial((&net.Dialer{}).DialContext)
		return hosttest.Subject{Host: f, Dir: "/etc/under test"}
	}
	hosttest.RunFiles(t, fresh)
	hosttest.RunDial(t, fresh)
}

func TestFakePlaysTheLastHandlerThatFits(t *testing.T) {
	f := hosttest.NewFake("fake")
	f.Handle(hosttest.Print("any"), "systemctl")
	f.Handle(f.Exit(3, "inactive"), "systemctl", "is-active")
	r, err := f.Run(t.Context(), host.Cmd{Args: []string{"systemctl", "start", "x"}})
	if err != nil || string(r.Stdout) != "any" {
		t.Errorf("start: %q, %v", r.Stdout, err)
	}
	_, err = f.Run(t.Context(), host.Cmd{Args: []string{"systemctl", "is-active", "x"}, Root: true})
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("is-active: %v", err)
	}
	_, err = f.Run(t.Context(), host.Cmd{Args: []string{"nothing"}})
	if !errors.As(err, &exit) || exit.Code != 127 {
		t.Errorf("unknown command: %v", err)
	}
	if got := f.Commands(); len(got) != 3 || !got[1].Root {
		t.Errorf("recorded %v", got)
	}
}

func TestFakeCrashesBetweenTwoPuts(t *testing.T) {
	f := hosttest.NewFake("fake")
	f.CrashAfterPuts(1)
	files := []host.File{hosttest.Content("/a", 0o644, []byte("a")), hosttest.Content("/b", 0o644, []byte("b"))}
	var down *host.UnreachableError
	if err := f.Put(t.Context(), files...); !errors.As(err, &down) {
		t.Errorf("error %v, want a host that is away", err)
	}
	if got := f.Paths(); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("files %v, want the first one", got)
	}
	f.SetDown(nil)
	if err := f.Put(t.Context(), files...); err != nil {
		t.Error(err)
	}
}
