package runner

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/sweep"
)

// secrets are the words that must not reach an artifact: API keys, the values
// of headers that carry credentials, passwords and keys in URLs.
type secrets []string

// secretsOf collects them from every cell, longest first.
func secretsOf(plan *sweep.Plan) secrets {
	var s secrets
	for _, c := range plan.Cells {
		e := c.Resolved.Benchmark.Endpoint
		s = append(s, secret.Words(e.APIKey, e.Headers, e.URLs, e.Extra)...)
		if f := e.Flip; f != nil {
			s = append(s, secret.Words("", f.Headers, []string{f.Call}, f.Body)...)
		}
	}
	slices.SortFunc(s, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(s)
}

// mask replaces every secret in text.
func (s secrets) mask(text string) string {
	for _, word := range s {
		text = strings.ReplaceAll(text, word, "***")
	}
	return text
}

// masked is opt with no secret left in what is kept of the command.
func (s secrets) masked(opt Options) Options {
	opt.CommandLine = s.mask(opt.CommandLine)
	opt.Source = []byte(s.mask(string(opt.Source)))
	opt.Origins = slices.Clone(opt.Origins)
	for i, line := range opt.Origins {
		opt.Origins[i] = s.mask(line)
	}
	return opt
}
