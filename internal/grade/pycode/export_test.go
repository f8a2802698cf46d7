package pycode

// GroupOnly is a job on a system that allows no namespaces.
func GroupOnly(j Job) Job {
	j.groupOnly = true
	return j
}
