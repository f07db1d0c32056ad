package sshhost

import "strings"

// quote makes one command line of an argument vector for the login shell that sshd hands it
// to: each argument in single quotes, inside which nothing is special (POSIX XCU 2.2.2); a
// single quote itself is written as '\”.
func quote(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(a, `'`, `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}
