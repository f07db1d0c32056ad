package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/inventory"
)

// TestShellThroughABastionKnowsItsKeyAndHosts has the real ssh say what it would do.
func TestShellThroughABastionKnowsItsKeyAndHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's 100% mine")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(dir, "known hosts")
	h := inventory.SSH{Address: "10.0.0.9", Port: 2201, User: "ops", KeyPath: filepath.Join(dir, "key"), KnownHostsPath: known,
		Bastion: &inventory.SSH{Address: "192.0.2.1", Port: 2222, User: "jump", KeyPath: filepath.Join(dir, "jump key"), KnownHostsPath: known}}
	out, err := exec.Command("ssh", append([]string{"-G"}, shellArgs(h)...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"port 2201", "user ops", "hostname 10.0.0.9", "userknownhostsfile " + known, "'jump'", "'2222'", "jump key", "-W' '[%h]:%p"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ssh does not know %q:\n%s", want, out)
		}
	}
}

// TestShellThroughTwoBastions has the real ssh read the way to the second out of the way to the first.
func TestShellThroughTwoBastions(t *testing.T) {
	dir := t.TempDir()
	second := filepath.Join(dir, "second")
	if err := os.WriteFile(second, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := inventory.SSH{Address: "10.0.0.9", Port: 22, User: "ops", Identities: []string{filepath.Join(dir, "none"), second},
		Bastion: &inventory.SSH{Address: "inner", Port: 22, User: "ops", Bastion: &inventory.SSH{Address: "outer", Port: 2222, User: "jump"}}}
	// A stand-in for ssh that shows its arguments and, once, what its own way is.
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >>" + dir + "/log\nfor a; do case $a in ProxyCommand=*) c=${a#ProxyCommand=}; c=$(printf %s \"$c\" | sed 's/%h/inner/; s/%p/22/'); sh -c \"$c\";; esac; done\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ssh", append([]string{"-G"}, shellArgs(h)...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	command := ""
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "proxycommand "); ok {
			command = strings.TrimSpace(rest)
		}
	}
	// ssh expands % once before its shell reads the command.
	run := exec.Command("sh", "-c", strings.NewReplacer("%%", "%", "%h", "10.0.0.9", "%p", "22").Replace(command))
	run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if text, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[10.0.0.9]:22\n--\ninner\n", "-p\n2222\n-l\njump\n-W\n[inner]:22\n--\nouter\n"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("ssh was not called with %q:\n%s", want, log)
		}
	}
	if !strings.Contains(string(out), "identityfile "+second) {
		t.Errorf("ssh does not know the second key:\n%s", out)
	}
}
