package endpoint

import (
	"encoding/json"
	"maps"
	"strconv"
)

// body writes the top level of a request. Extra inputs win over generated
// keys, a turn's own over the endpoint's; extra keys come last.
type body struct {
	dst   []byte
	extra map[string]any
	err   error
}

func newBody(dst []byte, in *Input) *body {
	return &body{dst: append(dst, '{'), extra: mergedExtra(in)}
}

// mergedExtra is the endpoint's extra inputs under the turn's own.
func mergedExtra(in *Input) map[string]any {
	switch {
	case len(in.Turn.Extra) == 0:
		return in.Extra
	case len(in.Extra) == 0:
		return in.Turn.Extra
	}
	all := maps.Clone(in.Extra)
	maps.Copy(all, in.Turn.Extra)
	return all
}

// key begins a generated entry; false if an extra input replaces it.
func (b *body) key(name string) bool {
	if _, replaced := b.extra[name]; replaced {
		return false
	}
	b.dst = appendKey(b.dst, name)
	return true
}

func (b *body) str(name, v string) {
	if b.key(name) {
		b.dst = appendString(b.dst, v)
	}
}

func (b *body) flag(name string, v bool) {
	if b.key(name) {
		b.dst = strconv.AppendBool(b.dst, v)
	}
}

// count writes v, and nothing at all when it is 0: not said.
func (b *body) count(name string, v int64) {
	if v != 0 && b.key(name) {
		b.dst = strconv.AppendInt(b.dst, v, 10)
	}
}

// oneOrList writes a single text as a string, several as a list.
func (b *body) oneOrList(name string, texts []string) {
	if !b.key(name) {
		return
	}
	if len(texts) == 1 {
		b.dst = appendString(b.dst, texts[0])
		return
	}
	b.dst = appendTexts(b.dst, texts)
}

func (b *body) list(name string, texts []string) {
	if b.key(name) {
		b.dst = appendTexts(b.dst, texts)
	}
}

// extras writes the extra inputs, but stream_options, which usage writes.
func (b *body) extras() {
	for _, k := range sortedKeys(b.extra) {
		if k != "stream_options" {
			b.value(k, b.extra[k])
		}
	}
}

// allExtras writes the extra inputs of an API without stream_options of its own.
func (b *body) allExtras() {
	for _, k := range sortedKeys(b.extra) {
		b.value(k, b.extra[k])
	}
}

// raw writes a value that is JSON already.
func (b *body) raw(name string, v []byte) {
	if len(v) > 0 && b.key(name) {
		b.dst = append(b.dst, v...)
	}
}

func (b *body) value(key string, v any) {
	if b.err == nil {
		b.dst, b.err = appendValue(appendKey(b.dst, key), v)
	}
}

// streamOptions asks for usage in a stream if ask is set, unless the author of
// the extra inputs said otherwise: an include_usage of theirs stays, whatever it
// is, no options at all (null) count as not said, and anything that is not an
// object is left alone.
func (b *body) streamOptions(in *Input, ask bool) {
	given, said := b.extra["stream_options"]
	if !ask || !truthy(b.streams(in)) {
		if said {
			b.value("stream_options", given)
		}
		return
	}
	options, isObject := given.(map[string]any)
	if given != nil && !isObject {
		b.value("stream_options", given)
		return
	}
	merged := maps.Clone(options)
	if merged == nil {
		merged = map[string]any{}
	}
	asked := []string{"include_usage"}
	if in.Each {
		asked = append(asked, "continuous_usage_stats")
	}
	for _, name := range asked {
		if _, said := merged[name]; !said {
			merged[name] = true
		}
	}
	b.value("stream_options", merged)
}

// streams is the stream key as it is sent.
func (b *body) streams(in *Input) any {
	if v, ok := b.extra["stream"]; ok {
		return v
	}
	return in.Stream
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int:
		return v != 0
	case int64:
		return v != 0
	case float64:
		return v != 0
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return true
}

func (b *body) end() ([]byte, error) { return append(b.dst, '}'), b.err }

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, t)
	}
	return append(dst, ']')
}
