package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
)

// headBytes is how much of a file tells what it is.
const headBytes = 64 << 10

// head is how a file begins: the names of its members, with what short strings they hold.
type head struct {
	text  string            // of what is not JSON
	first string            // line, without its end
	json  bool              // begins as a JSON object
	names map[string]string // "a", "a.b", "a.b.c" → the string there, "" for anything else
	bad   error             // of a short file: why it is no JSON, though it begins as if
}

// has reports whether all of these members are there.
func (h *head) has(names ...string) bool {
	for _, n := range names {
		if _, ok := h.names[n]; !ok {
			return false
		}
	}
	return true
}

func readHead(path string) (*head, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return nil, err
	}
	return headOf(b), nil
}

// headOf reads as far as the bytes are JSON, and no further than three levels deep. Lists
// are looked into: their members have the name of the list.
func headOf(b []byte) *head {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	h := &head{names: map[string]string{}}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	h.first = strings.TrimSuffix(string(line), "\r")
	if text := bytes.TrimLeft(b, " \t\r\n"); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		h.json = true
		d := json.NewDecoder(fromPython(bytes.NewReader(b)))
		d.UseNumber()
		if !h.walk(d, "", 0) && len(b) < headBytes {
			h.bad = torn(b)
		}
	} else {
		h.text = string(b)
	}
	return h
}

// walk notes the names in the next value; false where the bytes end.
func (h *head) walk(d *json.Decoder, at string, depth int) bool {
	t, err := d.Token()
	if err != nil {
		return false
	}
	if text, ok := t.(string); ok && at != "" {
		if len(text) < 200 {
			h.names[at] = text
		}
		return true
	}
	open, nested := t.(json.Delim)
	if !nested {
		return true
	}
	for d.More() {
		next := at
		if open == '{' {
			key, err := d.Token()
			name, ok := key.(string)
			if err != nil || !ok {
				return false
			}
			if next = name; at != "" {
				next = at + "." + name
			}
			if depth < 3 {
				if _, had := h.names[next]; !had {
					h.names[next] = ""
				}
			}
		}
		if depth >= 4 {
			if skip(d) != nil {
				return false
			}
		} else if !h.walk(d, next, depth+1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// torn says where bytes stop being JSON; nil where they do not.
func torn(b []byte) error {
	d := json.NewDecoder(fromPython(bytes.NewReader(b)))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return damaged(d, err)
		}
	}
}
