package sshhost

import (
	"os/exec"
	"strings"
	"testing"
)

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "'", "''", `"`, "$HOME", "`id`", "a\nb", `\`, `\'`, "!!", "-n", "*", "ü", "\xff\x01", "~", "a b\tc"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			t.Skip("no argument holds NUL")
		}
		for _, shell := range []string{"sh", "bash"} {
			out, err := exec.Command(shell, "-c", quote([]string{"printf", `%s\0`, a, b, "end"})).Output()
			if want := a + "\x00" + b + "\x00end\x00"; err != nil || string(out) != want {
				t.Errorf("%s saw %q, want %q, error %v", shell, out, want, err)
			}
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"/a", "/a b", "/a\\0101", "/%s", "/ü\n", "/-", "/\x01\xff", "/a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if strings.ContainsRune(p, 0) {
			t.Skip("no path holds NUL")
		}
		line := escape(p)
		if strings.ContainsAny(line, " \n\t") {
			t.Errorf("escape(%q) = %q, which is no single word", p, line)
		}
		out, err := exec.Command("sh", "-c", `printf '%b' "$1"`, "sh", line).Output()
		if err != nil || string(out) != p {
			t.Errorf("printf gives %q for %q, error %v", out, p, err)
		}
	})
}
