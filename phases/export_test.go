package phases

// Leave is leave, for tests.
func (e *Env) Leave(name string, err error) bool { return e.leave(name, err) }
