// Package hosttest is what tests of hosts and of code above them need: a conformance suite
// that every host.Host must pass, an SSH server in this process, and a Fake host in memory.
package hosttest
