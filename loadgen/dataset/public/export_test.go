package public

// Pick are the files among a repository's that hold the set's split, card being
// its README.md.
func (s *Set) Pick(list []string, card string) ([]string, error) { return s.pick(list, card) }
