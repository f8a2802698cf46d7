package transport

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkPath refuses a request target that would break out of the request line.
// Nothing is a target, too: the server's address is all of it.
func checkPath(path string) error {
	if path != "" && path[0] != '/' {
		return fmt.Errorf("path %q: must start with /", path)
	}
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c == 0x7f {
			return fmt.Errorf("path %q: character %q is not allowed", path, c)
		}
	}
	return nil
}

// appendTarget adds the request target: the target's own path, then path
// without a version segment that both have, then the target's query.
func (t *target) appendTarget(dst []byte, x *Exchange) []byte {
	if x.Root {
		return append(dst, x.Path...)
	}
	prefix, path := join(t.path, x.Path)
	if prefix+path == "" {
		path = "/"
	}
	dst = append(append(dst, prefix...), path...)
	if t.query == "" {
		return dst
	}
	mark := byte('?')
	if strings.IndexByte(path, '?') >= 0 {
		mark = '&'
	}
	return append(append(dst, mark), t.query...)
}

// join leaves out of a target's own path, or of the path below it, what both
// have: a version segment, or the whole path.
func join(prefix, path string) (string, string) {
	if strings.HasSuffix(prefix, path) {
		return prefix, ""
	}
	i := strings.LastIndexByte(prefix, '/')
	if i >= 0 && len(prefix) > i+1 && strings.HasPrefix(path, prefix[i:]+"/") {
		return prefix[:i], path
	}
	return prefix, path
}

// PlainURL is where requests to base go, without query and credentials; "" for
// what is no URL.
func PlainURL(base, path string) string {
	t, err := parseTarget(base, "", pooled)
	if err != nil {
		return ""
	}
	prefix, path := join(t.path, path)
	path, _, _ = strings.Cut(path, "?")
	return t.base + prefix + path
}

// Visible is a path or a query as a request line may hold it: what is not ASCII is
// escaped, and what is escaped stays.
func Visible(target string) string {
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Lines of ours that a caller's own header replaces.
const (
	linesHost = 1 << iota
	linesUserAgent
	linesContentType
	linesAccept
	linesAuthorization
)

// appendHead renders the request line and header of x.
func (t *target) appendHead(dst []byte, x *Exchange) []byte {
	dst = append(append(dst, x.method()...), ' ')
	dst = t.appendTarget(dst, x)
	dst = append(dst, " HTTP/1.1\r\n"...)
	given := given(x.Header)
	if given&(linesHost|linesUserAgent) == 0 {
		dst = append(dst, t.fixed...)
	} else {
		dst = t.appendFixed(dst, given)
	}
	if given&linesContentType == 0 && x.Method == "" {
		dst = append(dst, "Content-Type: application/json\r\n"...)
	}
	if given&linesAccept == 0 {
		dst = append(dst, Accept(x.Stream)...)
	}
	if t.auth != nil && given&linesAuthorization == 0 {
		dst = append(dst, t.auth...)
	}
	if t.pool.reuse == never {
		dst = append(dst, "Connection: close\r\n"...)
	}
	dst = append(dst, x.Header...)
	if x.Method != "" {
		return append(dst, "\r\n"...)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(x.Body)), 10)
	return append(dst, "\r\n\r\n"...)
}

// method is the request's; one that is named has no body.
func (x *Exchange) method() string {
	if x.Method == "" {
		return http.MethodPost
	}
	return x.Method
}

// RequestHeader renders the header lines of x as they are sent, secrets included.
func (c *Client) RequestHeader(x *Exchange) []byte {
	head := c.targets[x.Target].appendHead(nil, x)
	_, lines, _ := bytes.Cut(head, []byte("\r\n"))
	return bytes.TrimSuffix(lines, []byte("\r\n"))
}

// Accept is the line that says which kind of answer is asked for.
func Accept(stream bool) string {
	if stream {
		return "Accept: text/event-stream\r\n"
	}
	return "Accept: application/json\r\n"
}

// appendFixed adds those of the fixed lines that the caller does not give.
func (t *target) appendFixed(dst []byte, given int) []byte {
	for rest := t.fixed; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n') + 1
		if line := rest[:i]; lineBit(line)&given == 0 {
			dst = append(dst, line...)
		}
		rest = rest[i:]
	}
	return dst
}

// given says which of our own lines the caller's header replaces.
func given(header []byte) (bits int) {
	for len(header) > 0 {
		i := bytes.IndexByte(header, '\n')
		if i < 0 {
			i = len(header) - 1
		}
		bits |= lineBit(header[:i+1])
		header = header[i+1:]
	}
	return bits
}

func lineBit(line []byte) int {
	if len(line) == 0 {
		return 0
	}
	switch line[0] | 0x20 {
	case 'h':
		return named(line, "host", linesHost)
	case 'u':
		return named(line, "user-agent", linesUserAgent)
	case 'c':
		return named(line, "content-type", linesContentType)
	case 'a':
		return named(line, "accept", linesAccept) | named(line, "authorization", linesAuthorization)
	}
	return 0
}

// named is bit if line is the header called name, which is in lower case.
func named(line []byte, name string, bit int) int {
	if len(line) <= len(name) || line[len(name)] != ':' {
		return 0
	}
	for i := range len(name) {
		if c := line[i]; c != name[i] && (c|0x20 != name[i] || c < 'A' || c > 'Z') {
			return 0
		}
	}
	return bit
}
