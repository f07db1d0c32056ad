package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// sshConfig is a user's OpenSSH configuration (ssh_config(5)): one file, and what it includes. nil
// says nothing.
type sshConfig struct {
	path     string
	parsed   *ssh_config.Config
	included map[*ssh_config.KV][]*sshConfig
}

// Files that include each other end here, as they do for ssh (readconf.c: READCONF_MAX_DEPTH).
const maxIncludes = 16

var (
	// The library reads included files from the home that the password database names, and keeps to
	// itself what is wrong with them. Under another keyword it leaves them to us.
	includeLine    = regexp.MustCompile(`(?im)^([ \t]*)include([ \t=])`)
	includeKeyword = "ClusterctlInclude"
	matchLine      = regexp.MustCompile(`(?i)^\s*match[ \t=]+(.*)$`)
)

// readSSHConfig reads ~/.ssh/config; nil when there is none.
func readSSHConfig(home string) (*sshConfig, error) {
	c, err := readSSHConfigFile(home, filepath.Join(home, ".ssh", "config"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, err
}

func readSSHConfigFile(home, path string, depth int) (*sshConfig, error) {
	if depth > maxIncludes {
		return nil, fmt.Errorf("read %s: files include each other more than %d deep", path, maxIncludes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the SSH configuration: %w", err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if m := matchLine.FindStringSubmatch(line); m != nil && !strings.EqualFold(strings.TrimSpace(m[1]), "all") {
			return nil, fmt.Errorf("%s:%d: Match %s is not supported: write a Host section, or set the hosts' user, port, keyPath and bastion in the spec", path, i+1, strings.TrimSpace(m[1]))
		}
	}
	plain := strings.ReplaceAll(includeLine.ReplaceAllString(string(text), "${1}"+includeKeyword+"${2}"), "\t", " ")
	c := &sshConfig{path: path, included: map[*ssh_config.KV][]*sshConfig{}}
	if c.parsed, err = ssh_config.Decode(strings.NewReader(plain)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, section := range c.parsed.Hosts {
		for _, node := range section.Nodes {
			if line, ok := node.(*ssh_config.KV); ok && line.Key == includeKeyword {
				if c.included[line], err = readIncluded(home, line.Value, depth+1); err != nil {
					return nil, fmt.Errorf("%s:%d: include: %w", path, line.Pos().Line, err)
				}
			}
		}
	}
	return c, nil
}

// readIncluded reads the files that an Include names; a pattern that names none is fine.
func readIncluded(home, patterns string, depth int) ([]*sshConfig, error) {
	var out []*sshConfig
	for _, pattern := range strings.Fields(patterns) {
		pattern = strings.Trim(pattern, `"`)
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = filepath.Join(home, rest)
		} else if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(home, ".ssh", pattern)
		}
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			c, err := readSSHConfigFile(home, path, depth)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// all gives the values of a keyword for a host as it was named, in order: the first one counts,
// but for keywords that may be given several times.
func (c *sshConfig) all(host, keyword string) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, section := range c.parsed.Hosts {
		if !section.Matches(host) {
			continue
		}
		for _, node := range section.Nodes {
			line, ok := node.(*ssh_config.KV)
			switch {
			case !ok:
			case line.Key == includeKeyword:
				for _, other := range c.included[line] {
					out = append(out, other.all(host, keyword)...)
				}
			case strings.EqualFold(line.Key, keyword):
				out = append(out, line.Value)
			}
		}
	}
	return out
}

// first is the value that counts; empty when there is none.
func (c *sshConfig) first(host, keyword string) string {
	if all := c.all(host, keyword); len(all) > 0 {
		return all[0]
	}
	return ""
}

// expand replaces the tokens of a value (ssh_config(5), TOKENS); one that is not in the table is an error.
func (c *sshConfig) expand(keyword, value string, tokens map[byte]string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			out.WriteByte(value[i])
			continue
		}
		i++
		if i < len(value) && value[i] == '%' {
			out.WriteByte('%')
			continue
		}
		text, ok := "", false
		if i < len(value) {
			text, ok = tokens[value[i]]
		}
		if !ok {
			return "", fmt.Errorf("%s: %s %s has a token that is not supported: write the value out, or set it in the spec", c.path, keyword, value)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}
