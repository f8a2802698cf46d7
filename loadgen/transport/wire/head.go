package wire

import (
	"bytes"
	"fmt"
)

// Head is what a response header says that matters here. The slices are
// borrowed from the parser and valid during Sink.Head.
type Head struct {
	Status          int
	Reason          []byte
	ContentType     []byte
	ContentEncoding []byte
	RetryAfter      []byte
	Location        []byte
	Timed           bool  // a line says how long the server took: x-…-time, Server-Timing
	Length          int64 // Content-Length, -1 when not said or overruled by Chunked
	Chunked         bool
	KeepAlive       bool
	Lines           []byte // the header lines as they came, to the empty one

	http11   bool
	encoding []byte // Transfer-Encoding
	lengths  bool   // a Content-Length was seen
}

// parse reads block, a status line and header lines up to and including the
// empty line. Lines may end with LF alone and be folded.
func (h *Head) parse(block []byte) error {
	line, block := cutLine(block)
	h.Length = -1
	if err := h.status(line); err != nil {
		return err
	}
	h.KeepAlive, h.Lines = h.http11, block
	for {
		line, rest := cutLine(block)
		if len(line) == 0 {
			return h.framing()
		}
		if line[0] == ' ' || line[0] == '\t' {
			return fmt.Errorf("%w: it starts with a folded line", errHeader)
		}
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			var more []byte
			more, rest = cutLine(rest)
			line = bytes.Join([][]byte{trim(line), trim(more)}, []byte{' '})
		}
		block = rest
		if err := h.field(line); err != nil {
			return err
		}
	}
}

// cutLine splits off the first line, without its end.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	line, rest = b[:i], b[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}

// status reads "HTTP/1.1 200 OK"; the reason may be missing.
func (h *Head) status(line []byte) error {
	bad := func() error { return fmt.Errorf("%w: status line %.60q", errHeader, line) }
	if len(line) < 12 || string(line[:5]) != "HTTP/" || !digit(line[5]) || line[6] != '.' || !digit(line[7]) ||
		line[8] != ' ' {
		return bad()
	}
	h.http11 = line[5] > '1' || line[5] == '1' && line[7] >= '1'
	code := bytes.TrimLeft(line[9:], " ")
	if len(code) < 3 || !digit(code[0]) || !digit(code[1]) || !digit(code[2]) || len(code) > 3 && code[3] != ' ' {
		return bad()
	}
	h.Status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	h.Reason = trim(code[3:])
	return nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// field notes one header line.
func (h *Head) field(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return fmt.Errorf("%w: line %.60q", errHeader, line)
	}
	name, value := line[:i], trim(line[i+1:])
	if i >= len("x-queue-time") && (asciiFold(name[i-5:], "-time") || asciiFold(name, "server-timing")) {
		h.Timed = true
	}
	switch len(name) {
	case len("location"):
		if asciiFold(name, "location") {
			h.Location = value
		}
	case len("connection"):
		if asciiFold(name, "connection") {
			h.connection(value)
		}
	case len("retry-after"):
		if asciiFold(name, "retry-after") {
			h.RetryAfter = value
		}
	case len("content-type"):
		if asciiFold(name, "content-type") && h.ContentType == nil {
			h.ContentType = value
		}
	case len("content-length"):
		if asciiFold(name, "content-length") {
			return h.length(value)
		}
	case len("content-encoding"):
		if asciiFold(name, "content-encoding") {
			h.ContentEncoding = value
		}
	case len("transfer-encoding"):
		if asciiFold(name, "transfer-encoding") {
			if h.encoding != nil {
				return fmt.Errorf("%w: two transfer encodings", errHeader)
			}
			h.encoding = value
		}
	}
	return nil
}

// connection reads the tokens of a Connection header.
func (h *Head) connection(value []byte) {
	for len(value) > 0 {
		token, rest, _ := bytes.Cut(value, []byte{','})
		value = rest
		switch token = trim(token); {
		case asciiFold(token, "close"):
			h.KeepAlive = false
		case asciiFold(token, "keep-alive") && !h.http11:
			h.KeepAlive = true
		}
	}
}

// length reads a Content-Length. Repeating the same number is harmless.
func (h *Head) length(value []byte) error {
	var n int64
	for _, c := range value {
		if !digit(c) || n > (1<<62)/10 {
			return fmt.Errorf("%w: content length %.30q", errHeader, value)
		}
		n = n*10 + int64(c-'0')
	}
	if len(value) == 0 {
		return fmt.Errorf("%w: empty content length", errHeader)
	}
	if h.lengths && n != h.Length {
		return fmt.Errorf("%w: content lengths %d and %d", errHeader, h.Length, n)
	}
	h.Length, h.lengths = n, true
	return nil
}

// framing applies Transfer-Encoding, which overrules Content-Length. HTTP/1.0
// has no such header.
func (h *Head) framing() error {
	if h.encoding == nil || !h.http11 {
		return nil
	}
	if !asciiFold(h.encoding, "chunked") {
		return fmt.Errorf("%w: transfer encoding %.30q", errHeader, h.encoding)
	}
	h.Chunked, h.Length = true, -1
	return nil
}
