// Package wire parses what a server sends: HTTP/1.1 responses, event streams
// and lines. In go bytes, split anywhere; out come calls with borrowed slices.
// It does no I/O, reads no clock and allocates nothing per event once its
// buffers have grown to the largest piece that was split over two feeds.
package wire

import "errors"

// Limits on what a server may make us hold.
const (
	MaxLine = 64 << 10  // bytes of one header, trailer or chunk-size line
	MaxHead = 256 << 10 // bytes of a response's header, and of its trailer
)

// ErrTooLarge says that something went past its limit.
var ErrTooLarge = errors.New("longer than the limit")

// asciiFold reports whether b is s, which is in lower case, whatever b's case.
func asciiFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

// trim drops spaces and tabs at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
