package secret

import (
	"slices"
	"strings"
)

// open are the headers whose values are shown: what kind of thing is sent, which
// version of an API is meant, which request it is. The value of every other header
// is taken for a credential, since its name does not tell.
var open = []string{
	"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection",
	"content-encoding", "content-length", "content-type", "date",
	"expect", "host", "keep-alive", "location", "pragma", "prefer", "priority", "retry-after", "server", "te",
	"trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via",
	"anthropic-beta", "anthropic-version", "openai-beta", "traceparent", "x-correlation-id", "x-request-id",
}

// Header reports whether the value of a header with that name is masked.
func Header(name string) bool {
	return !slices.Contains(open, strings.ToLower(strings.TrimSpace(name)))
}
