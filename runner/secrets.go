package runner

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"aiperf.dev/aiperf/sweep"
)

// secrets are the words that must not reach an artifact: API keys, the values
// of headers that carry credentials, passwords in URLs.
type secrets []string

// secretsOf collects them from every cell, longest first, so that a secret
// that contains another is masked whole.
func secretsOf(plan *sweep.Plan) secrets {
	var s secrets
	for _, c := range plan.Cells {
		e := c.Resolved.Benchmark.Endpoint
		s = s.add(e.APIKey)
		for name, value := range e.Headers {
			if credential(name) {
				s = s.add(value)
				if _, token, ok := strings.Cut(value, " "); ok { // Bearer TOKEN
					s = s.add(token)
				}
			}
		}
		for _, raw := range e.URLs {
			if u, err := url.Parse(raw); err == nil && u.User != nil {
				if p, ok := u.User.Password(); ok {
					s = s.add(p)
				}
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(s)
}

// add takes a secret with the forms it travels in. Very short words are left
// alone: masking them would only garble the text.
func (s secrets) add(word string) secrets {
	if len(word) < 4 || strings.Trim(word, "*") == "" {
		return s
	}
	return append(s, word, url.QueryEscape(word), url.PathEscape(word),
		base64.StdEncoding.EncodeToString([]byte(word)), base64.RawStdEncoding.EncodeToString([]byte(word)), base64.URLEncoding.EncodeToString([]byte(word)))
}

// credential tells whether a header of that name carries one.
func credential(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"authorization", "api-key", "apikey", "token", "secret", "password", "cookie", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
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
