package schema

import "aiperf.dev/aiperf/internal/suggest"

// Experiments are the fields of a CUE package, or of a file, that are
// experiments, as -e takes them; "" is the package itself.
func Experiments(name string, sel Select) ([]string, error) {
	found, bad := experiments(name, sel, stub)
	if bad != nil {
		return nil, bad
	}
	return found, nil
}

// Suggest is the word of among that was probably meant by word, or "".
func Suggest(word string, among []string) string { return suggest.Nearest(word, among) }
