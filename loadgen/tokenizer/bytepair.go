package tokenizer

import "strings"

// bytePair is a built-in encoding ready for use. It is never written to, so it
// may be shared.
type bytePair struct {
	*encoding
	ranks *ranks
}

func (b *bytePair) Name() string { return b.name }

func (b *bytePair) Encode(dst []int, text string) []int {
	var m *merger // made for the first piece that is no token by itself
	for at := 0; at < len(text); {
		end := b.split(text, at)
		if id := b.ranks.rank(text[at:end]); id != none {
			dst = append(dst, int(id))
		} else {
			if m == nil {
				m = new(merger)
			}
			b.ranks.each(m, text[at:end], func(tokens []symbol) {
				for _, s := range tokens {
					dst = append(dst, int(s.id))
				}
			})
		}
		at = end
	}
	return dst
}

func (b *bytePair) Count(text string) int {
	var m *merger // as in Encode
	n := 0
	for at := 0; at < len(text); {
		end := b.split(text, at)
		if b.ranks.rank(text[at:end]) != none {
			n++
		} else {
			if m == nil {
				m = new(merger)
			}
			b.ranks.each(m, text[at:end], func(tokens []symbol) { n += len(tokens) })
		}
		at = end
	}
	return n
}

func (b *bytePair) Decode(ids []int) string {
	var s strings.Builder
	for _, id := range ids {
		if t := b.ranks.token(id); t != "" {
			s.WriteString(t)
		} else {
			s.WriteString(b.special[id])
		}
	}
	return s.String()
}
