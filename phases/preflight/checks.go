package preflight

// Checks is the table of all checks, in the order in which findings are shown.
func Checks() []Check {
	return []Check{
		{nameReachable, "the host answers", reachable},
		{namePrivilege, "commands run as root, directly or through sudo", privilege},
		{"identity", "the host belongs to this cluster or to none", perHost(identity)},
		{"foreign", "no other tool's cluster data is on the host", perHost(foreign)},
	}
}
