package endpoint

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// boundary separates the parts of our forms. It is the same in every request,
// so that a request does not depend on when it is made; a file that holds it is
// refused.
const boundary = "aiperf-form-boundary-7f3d0c9a51e84b26"

const formType = "multipart/form-data; boundary=" + boundary

// Form reports whether requests are forms.
func (s *Spec) Form() bool { return s.ContentType == formType }

// form writes a multipart form (RFC 7578), or to look at an object of its fields.
// Extra inputs win over fields of the same name.
type form struct {
	dst    []byte
	extra  schema.Members
	done   []string // extra inputs that stand in the place of a field
	object bool
	err    error
}

func newForm(dst []byte, in *Input) *form {
	f := &form{dst: dst, extra: mergedExtra(in), object: in.Shown}
	if f.object {
		f.dst = append(f.dst, '{')
	}
	return f
}

// part begins a part. Its lines are in the order of AIPerf's.
func (f *form) part(name, kind, more string) {
	f.dst = append(f.dst, "--"+boundary+"\r\nContent-Type: "+kind+"\r\nContent-Disposition: form-data; name=\""...)
	f.dst = append(f.dst, strings.NewReplacer("\"", "%22", "\r", "%0D", "\n", "%0A").Replace(name)...)
	f.dst = append(append(append(f.dst, '"'), more...), "\r\n\r\n"...)
}

// str writes a field, unless an extra input replaces it.
func (f *form) str(name, value string) {
	if !f.replaced(name) {
		f.field(name, value)
	}
}

// count writes a number, unless an extra input replaces it.
func (f *form) count(name string, n int64) {
	if !f.replaced(name) {
		f.value(name, strconv.AppendInt(nil, n, 10))
	}
}

// replaced writes the extra input that replaces a field, if there is one.
func (f *form) replaced(name string) bool {
	v := f.extra.Raw(name)
	if v == nil {
		return false
	}
	f.value(name, v)
	f.done = append(f.done, name)
	return true
}

func (f *form) field(name, value string) {
	if f.object {
		f.dst = appendString(appendKey(f.dst, name), value)
		return
	}
	f.part(name, "text/plain; charset=utf-8", "")
	f.dst = append(append(f.dst, value...), "\r\n"...)
}

// file writes the bytes of a medium under a file name.
func (f *form) file(field, name, kind, encoded string) {
	if f.object {
		f.dst = append(appendString(append(appendKey(f.dst, field), `{"b64_data":`...), encoded), `,"filename":`...)
		f.dst = append(appendString(f.dst, name), `,"content_type":`...)
		f.dst = append(appendString(f.dst, kind), '}')
		return
	}
	f.part(field, kind, `; filename="`+name+`"`)
	start := len(f.dst)
	var err error
	if f.dst, err = base64.StdEncoding.AppendDecode(f.dst, []byte(encoded)); err != nil {
		f.err = fmt.Errorf("%s %s: not base64", field, name)
		return
	}
	if bytes.Contains(f.dst[start:], []byte(boundary)) {
		f.err = fmt.Errorf("%s %s: it holds the boundary of the form", field, name)
	}
	f.dst = append(f.dst, "\r\n"...)
}

// extras writes the extra inputs that replace nothing, but those that the API fills
// itself. Lists are repeated fields, null is left out.
func (f *form) extras(own ...string) {
	for _, x := range f.extra {
		if !slices.Contains(own, x.Name) && !slices.Contains(f.done, x.Name) {
			f.value(x.Name, x.Value)
		}
	}
}

// value writes JSON.
func (f *form) value(name string, v []byte) {
	if f.object {
		f.dst = append(appendKey(f.dst, name), v...)
		return
	}
	switch v[0] {
	case 'n': // null
	case '"':
		var text string
		_ = json.Unmarshal(v, &text) // it was read as JSON
		f.field(name, text)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(v, &list)
		for _, e := range list {
			f.value(name, e)
		}
	default:
		f.field(name, string(v))
	}
}

func (f *form) end() ([]byte, error) {
	if f.object {
		return append(f.dst, '}'), f.err
	}
	return append(f.dst, "--"+boundary+"--\r\n"...), f.err
}

// sniff is the type and the usual extension of an image by its first bytes.
func sniff(m *dataset.Media) (kind, ext string, err error) {
	head, _ := base64.StdEncoding.DecodeString(m.Base64[:min(len(m.Base64), 24)/4*4])
	for _, f := range []struct{ magic, kind, ext string }{
		{"\x89PNG\r\n\x1a\n", "image/png", "png"},
		{"\xff\xd8\xff", "image/jpeg", "jpg"},
		{"GIF8", "image/gif", "gif"},
		{"BM", "image/bmp", "bmp"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.kind, f.ext, nil
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "image/webp", "webp", nil
	}
	return "", "", errors.New("a file that is not an image (png, jpeg, webp, gif and bmp are known)")
}
