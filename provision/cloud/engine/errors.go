package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// PassphraseError says that the passphrase of the state is wrong or gone. Nothing was made.
type PassphraseError struct {
	Path    string
	Missing bool
}

func (e *PassphraseError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the cloud's state has a passphrase and %s is gone: restore the file from a backup, or give the passphrase in PULUMI_CONFIG_PASSPHRASE", e.Path)
	}
	return fmt.Sprintf("the passphrase does not fit the cloud's state: restore %s from a backup, or give the right one in PULUMI_CONFIG_PASSPHRASE; nothing was changed", e.Path)
}

// ExitCode is the contract's code for what is refused.
func (e *PassphraseError) ExitCode() int { return 3 }

// PluginError says that the engine lacks the cloud's plugin and could not fetch it.
type PluginError struct {
	Name, Version string
	Home, CLI     string // where plugins are kept, and what installs them
	Text          string // what the engine says
}

func (e *PluginError) Error() string {
	return fmt.Sprintf("Pulumi has no plugin for this cloud, and did not get it: %s\ninstall it: PULUMI_HOME=%s %s plugin install resource %s %s\n(with --file ARCHIVE where this machine cannot fetch it)",
		e.Text, e.Home, e.CLI, e.Name, e.Version)
}

// noPlugin is how the engine says which plugin it has not, whether it may fetch it or not.
var noPlugin = regexp.MustCompile(`resource plugin 'pulumi-resource-([\w-]+)'.* at version (v[\w.+-]+\w)`)

// lacks tells of a plugin that the engine has not.
func (e *Engine) lacks(text string) (*PluginError, bool) {
	m := noPlugin.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	line := lineWith(text, m[0])
	if _, after, ok := strings.Cut(line, "error: "); ok {
		line = after
	}
	return &PluginError{Name: m[1], Version: m[2], Home: e.o.Home, CLI: e.cli.path, Text: line}, true
}

// CredentialsError says that the cloud does not let us in.
type CredentialsError struct{ Text string }

func (e *CredentialsError) Error() string {
	return "the cloud refuses the credentials: " + e.Text + "; renew them and run the same command again"
}

// ExitCode is the contract's code for a host, here the cloud, that refuses.
func (e *CredentialsError) ExitCode() int { return 4 }

// FailedError says what went wrong with which things. The rest of what was begun was finished and
// is in the state.
type FailedError struct {
	Doing    string
	Problems []string
}

func (e *FailedError) Error() string {
	if len(e.Problems) == 1 {
		return e.Doing + ": " + e.Problems[0]
	}
	return e.Doing + ":\n  " + strings.Join(e.Problems, "\n  ")
}

// credentialTexts are how clouds say that credentials are missing, wrong or over: the error codes
// of AWS (Common Errors of the EC2 and STS APIs) and the texts of the Google and vSphere clients.
func credentialTexts() []string {
	return []string{
		"ExpiredToken", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure", "SignatureDoesNotMatch",
		"no valid credential sources", "failed to refresh cached credentials", "could not find default credentials", "invalid_grant",
		"Cannot complete login due to an incorrect user name or password",
	}
}

// explain classifies an error of the SDK. What the engine said of single things is the text; the
// SDK's own error holds the CLI's whole output and goes to the log.
func (e *Engine) explain(doing string, err error, problems []problem) error {
	if err == nil {
		return nil
	}
	e.o.Log.Debug("pulumi", "doing", doing, "error", err)
	text := err.Error()
	if auto.IsConcurrentUpdateError(err) {
		return lockedBy(ownersOf(text))
	}
	for _, p := range problems {
		text += "\n" + p.text
	}
	if strings.Contains(text, "incorrect passphrase") || strings.Contains(text, "passphrase must be set") {
		return &PassphraseError{Path: e.passphrasePath()}
	}
	if missing, ok := e.lacks(text); ok {
		return missing
	}
	for _, sign := range credentialTexts() {
		if strings.Contains(text, sign) {
			return &CredentialsError{Text: lineWith(text, sign)}
		}
	}
	if len(problems) == 0 {
		if strings.Contains(text, "signal: ") {
			return fmt.Errorf("%s: the Pulumi CLI was killed; run the same command again to go on from here", doing)
		}
		return fmt.Errorf("%s: %w", doing, errors.New(lineWith(text, "error:")))
	}
	out := &FailedError{Doing: doing}
	for _, p := range problems {
		line := p.text
		if p.urn != "" {
			line = p.urn[strings.LastIndex(p.urn, "::")+2:] + ": " + line
		}
		out.Problems = append(out.Problems, line)
	}
	return out
}

// lineWith gives the first line of text that has a word in it, or the whole text.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(text)
}
