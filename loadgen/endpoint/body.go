package endpoint

import (
	"encoding/json"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/schema"
)

// body writes the top level of a request. Extra inputs win over generated keys, in
// their places, a turn's own over the endpoint's; other extra keys come last.
type body struct {
	dst   []byte
	extra schema.Members
	done  []string // extra inputs that stand in the place of a generated key
}

func newBody(dst []byte, in *Input) *body {
	return &body{dst: append(dst, '{'), extra: mergedExtra(in)}
}

// mergedExtra is the endpoint's extra inputs under the turn's own.
func mergedExtra(in *Input) schema.Members { return in.Extra.With(in.Turn.Extra) }

// key begins a generated entry; false if an extra input replaces it.
func (b *body) key(name string) bool {
	if v := b.extra.Raw(name); v != nil {
		b.member(name, v)
		b.done = append(b.done, name)
		return false
	}
	b.dst = appendKey(b.dst, name)
	return true
}

func (b *body) member(name string, v []byte) { b.dst = append(appendKey(b.dst, name), v...) }

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

// extras writes the extra inputs that replace nothing.
func (b *body) extras() {
	for _, x := range b.extra {
		if !slices.Contains(b.done, x.Name) {
			b.member(x.Name, x.Value)
		}
	}
}

// raw writes a value that is JSON already.
func (b *body) raw(name string, v []byte) {
	if len(v) > 0 && b.key(name) {
		b.dst = append(b.dst, v...)
	}
}

// extrasAndUsage writes the same and asks for usage in a stream if ask is set, unless
// the author of the extra inputs said otherwise: an include_usage of theirs stays,
// whatever it is, no options at all (null) count as not said, and anything that is not
// an object is left alone.
func (b *body) extrasAndUsage(in *Input, ask bool) {
	const name = "stream_options"
	given := b.extra.Raw(name)
	if ask && truthy(b.streams(in)) && (given == nil || given[0] == '{' || string(given) == "null") {
		options := usageOptions(given, in.Each)
		if given == nil {
			b.extras()
			b.member(name, options)
			return
		}
		b.extra = b.extra.With(schema.Members{{Name: name, Value: options}})
	}
	b.extras()
}

// usageOptions are the options given, with usage asked for.
func usageOptions(given []byte, each bool) []byte {
	var options schema.Members
	_ = options.UnmarshalJSON(given) // an object or null
	asked := schema.Members{{Name: "include_usage", Value: yes}}
	if each {
		asked = append(asked, schema.Member{Name: "continuous_usage_stats", Value: yes})
	}
	for _, x := range asked {
		if !options.Has(x.Name) {
			options = append(options, x)
		}
	}
	return appendMembers(nil, options)
}

var yes = []byte("true")

// streams is the stream key as it is sent.
func (b *body) streams(in *Input) any {
	if b.extra.Has("stream") {
		return b.extra.Get("stream")
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
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return true
}

func (b *body) end() []byte { return append(b.dst, '}') }

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
