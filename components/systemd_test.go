package components_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"clusterctl/components"
)

// hostile is what a shell, systemd or a careless writer of unit files would change.
var hostile = []string{
	"memory.available<1Gi,nodefs.available<5%", "note=a_b", "$HOME and space", "${HOME}", "$$", "$", "%n %% %i", `say "hi"`, `it's`,
	`back\slash`, `ends with\`, `\n is no newline`, "two\nlines", "tab\there", "carriage\rreturn", "form\ffeed", "\x01\x1b[31m\x7f", "", " ", "ünïcödé 漢字 🙂",
	"\u00a0\u2028", ";", "#comment", "; and", "&& true", "|", "-", "@", "+", "!", "~", "{}", "[Service]", "a=b", "=", `\x41`, `"`, `'`,
}

func TestSystemdStartsExactlyTheArgumentsThatWerePlanned(t *testing.T) {
	for _, arg := range hostile {
		t.Run(strconv.Quote(arg), func(t *testing.T) {
			for _, want := range [][]string{
				{"/opt/program", arg}, {"/opt/program", "--flag=" + arg}, {"/opt/program", arg, arg, "last"},
			} {
				text, err := components.Service{Name: "x", Type: "exec", Args: want}.Text()
				if err != nil {
					t.Fatal(err)
				}
				if got := setting(t, string(text), "ExecStart", true); !slices.Equal(got, want) {
					t.Errorf("systemd starts %q, want %q, from:\n%s", got, want, text)
				}
			}
		})
	}
}

func TestAllHostileArgumentsTogetherStayApart(t *testing.T) {
	want := append([]string{"/opt/program"}, hostile...)
	text, err := components.Service{Name: "x", Type: "exec", Args: want}.Text()
	if err != nil {
		t.Fatal(err)
	}
	if got := setting(t, string(text), "ExecStart", true); !slices.Equal(got, want) {
		t.Errorf("systemd starts\n%q, want\n%q", got, want)
	}
}

func TestEnvironmentIsWhatWasPlanned(t *testing.T) {
	for _, value := range hostile {
		text, err := components.Service{Name: "x", Type: "exec", Args: []string{"/x"}, Environment: []string{"NAME=" + value}}.Text()
		if err != nil {
			t.Fatal(err)
		}
		if got := setting(t, string(text), "Environment", false); !slices.Equal(got, []string{"NAME=" + value}) {
			t.Errorf("environment %q, want %q", got, "NAME="+value)
		}
	}
}

func TestUnitArgumentsOfTheSpecReachTheProcessByteForByte(t *testing.T) {
	v := plain()
	v.kubernetes = `    kubeletArgs: {eviction-hard: "memory.available<1Gi,nodefs.available<5%", node-labels: "note=a_b"}
    apiServerArgs: {tracing-note: "$HOME and space"}
`
	cp := nodes(t, v)[0]
	kubelet, api := unitArgs(t, cp, "kubelet"), unitArgs(t, cp, "kube-apiserver")
	for _, c := range []struct {
		args       []string
		name, want string
	}{
		{kubelet, "eviction-hard", "memory.available<1Gi,nodefs.available<5%"},
		{kubelet, "node-labels", "note=a_b"},
		{api, "tracing-note", "$HOME and space"},
	} {
		if got := argument(t, c.args, c.name); got != c.want {
			t.Errorf("--%s is %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzCommandLine holds the round trip for whatever bytes a spec can bring: valid UTF-8 without NUL.
func FuzzCommandLine(f *testing.F) {
	for _, arg := range hostile {
		f.Add(arg)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		if strings.ToValidUTF8(arg, "") != arg || strings.ContainsRune(arg, 0) {
			t.Skip("no argument of a spec")
		}
		want := []string{"/opt/program", arg, "last"}
		text, err := components.Service{Name: "x", Type: "exec", Args: want}.Text()
		if err != nil {
			t.Fatal(err)
		}
		if got := setting(t, string(text), "ExecStart", true); !slices.Equal(got, want) {
			t.Errorf("systemd starts %q, want %q", got, want)
		}
	})
}

// setting reads a setting of the [Service] section as words, by systemd.syntax(7): lines end at a
// newline, a carriage return or a zero byte, a backslash at the end continues a line, comment
// lines are left out even within a continued line; and by systemd.service(5), "Command lines".
func setting(t *testing.T, text, name string, command bool) []string {
	t.Helper()
	var lines []string
	continued := false
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }) {
		trimmed := strings.TrimLeft(line, " \t")
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		body := strings.TrimSuffix(trimmed, `\`)
		if continued {
			lines[len(lines)-1] += " " + body
		} else {
			lines = append(lines, body)
		}
		continued = body != trimmed
	}
	section := ""
	var found []string
	for _, line := range lines {
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("systemd refuses the line %q", line)
		}
		if section == "[Service]" && key == name {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d settings %s in:\n%s", len(found), name, text)
	}
	return words(t, found[0], command)
}

// words splits as extract_first_word does, then expands % and, in commands, $.
func words(t *testing.T, value string, command bool) []string {
	t.Helper()
	var out []string
	for {
		value = strings.TrimLeft(value, " \t")
		if value == "" {
			return out
		}
		if command && (value == ";" || strings.HasPrefix(value, "; ")) {
			t.Fatalf("systemd takes the rest for another command: %q", value)
		}
		var word string
		word, value = nextWord(t, value)
		out = append(out, expand(t, word, command))
	}
}

func nextWord(t *testing.T, s string) (word, rest string) {
	t.Helper()
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if i == len(s) {
				t.Fatalf("systemd refuses a trailing backslash: %q", s)
			}
			text, used := unescape(t, s[i:])
			b.WriteString(text)
			i += used - 1
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), s[i:]
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		t.Fatalf("systemd misses a closing quote: %q", s)
	}
	return b.String(), ""
}

// unescape reads what follows a backslash (systemd.syntax(7), table "Supported escapes").
func unescape(t *testing.T, s string) (text string, used int) {
	t.Helper()
	if i := strings.IndexByte(`abfnrtv\"'s`, s[0]); i >= 0 {
		return "\a\b\f\n\r\t\v\\\"' "[i : i+1], 1
	}
	if s[0] == 'x' && len(s) >= 3 {
		n, err := strconv.ParseUint(s[1:3], 16, 8)
		if err == nil && n > 0 {
			return string([]byte{byte(n)}), 3
		}
	}
	t.Fatalf("systemd does not know the escape \\%s", s)
	return "", 0
}

func expand(t *testing.T, word string, command bool) string {
	t.Helper()
	word = double(t, word, '%')
	if command {
		word = double(t, word, '$')
	}
	return word
}

// double replaces a doubled mark by one and refuses a single one, which would be expanded.
func double(t *testing.T, s string, mark byte) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] != mark {
			continue
		}
		i++
		if i == len(s) || s[i] != mark {
			t.Fatalf("systemd expands %q", s)
		}
	}
	return b.String()
}
