package transport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestPacked(t *testing.T) {
	t.Parallel()
	chunk := func(token string) string {
		return `{"id":"chatcmpl-0123456789abcdef","model":"m","choices":[{"index":0,"delta":{"content":"` + token +
			`"}}]}`
	}
	long := strings.Repeat("x", maxRefer+1)
	for name, c := range map[string]struct {
		events []string
		most   int // bytes it may take
	}{
		"nothing":           {nil, 0},
		"empty ones":        {[]string{"", "", "a", "", ""}, 16},
		"the same again":    {[]string{chunk("a"), chunk("a")}, len(chunk("a")) + 6},
		"other middle":      {[]string{chunk("one"), chunk("two"), chunk("three")}, len(chunk("one")) + 3 + 6 + 8},
		"longer, shorter":   {[]string{"abc", "abcabc", "abc", "c", "abcd", "xbcd"}, 40},
		"repeated pattern":  {[]string{"aaaa", "aaaaaaaa", "aa", "aaaaaaaaa"}, 40},
		"first byte":        {[]string{"0123456789", "x123456789"}, 10 + 3 + 4},
		"last byte":         {[]string{"0123456789", "012345678x"}, 10 + 3 + 4},
		"too long to refer": {[]string{long, long, "a", "a"}, 2*len(long) + 20},
		"done":              {[]string{chunk("a"), "[DONE]"}, len(chunk("a")) + 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p packed
			for range 2 { // used, and used again
				p.reset()
				for _, e := range c.events {
					p.add([]byte(e))
				}
				want := strings.Join(c.events, "")
				if got := string(p.appendTo([]byte("before"))); got != "before"+want {
					t.Errorf("unpacked %.200q, want %.200q", got[6:], want)
				}
				if p.size != len(want) || len(p.data) > c.most {
					t.Errorf("size %d in %d bytes; want %d in at most %d", p.size, len(p.data), len(want), c.most)
				}
			}
		})
	}
}

// A long stream takes a tenth of the room of what it says.
func TestPackedStreamIsSmall(t *testing.T) {
	t.Parallel()
	var p packed
	for i := range 1000 {
		p.add(fmt.Appendf(nil, `{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"model":"mock-model-8b-instruct","choices":[{"index":0,"delta":{"content":" token%d"},"logprobs":null,"finish_reason":null}]}`, i*7919))
	}
	if len(p.data)*10 > p.size {
		t.Errorf("%d bytes for %d", len(p.data), p.size)
	}
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte("abc|abd|ab||abc"))
	f.Add([]byte("12345678|12345678x|x12345678|123456789012345|"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var p packed
		var want []byte
		for e := range bytes.SplitSeq(in, []byte("|")) {
			p.add(e)
			want = append(want, e...)
		}
		if got := p.appendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("unpacked %q, want %q", got, want)
		}
	})
}

func BenchmarkPacked(b *testing.B) {
	one := []byte(`{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"model":"mock-model-8b-instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`)
	two := bytes.Replace(one, []byte("token"), []byte("other"), 1)
	b.ReportAllocs()
	var p packed
	for b.Loop() {
		if p.add(one); len(p.data) > 1<<16 {
			p.reset()
		}
		one, two = two, one
	}
}
