package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sse feeds in, cut at the given places.
func sse(in string, cuts ...int) (events []string, partial bool) {
	s := SSE{Event: func(data []byte, isError bool) error {
		events = append(events, fmt.Sprint(string(data), map[bool]string{true: "!"}[isError]))
		return nil
	}}
	from := 0
	for _, to := range append(cuts, len(in)) {
		s.Feed([]byte(in[from:to])) //nolint:errcheck // Event returns none
		from = to
	}
	return events, s.Partial()
}

// slowSSE is the standard's algorithm word for word, on the whole input; beside
// it, an event called "error" without data has its first comment as data.
func slowSSE(in string) (events []string) {
	in = strings.TrimPrefix(in, "\uFEFF")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	var data []string
	isError, comment := false, ""
	for _, line := range lines[:len(lines)-1] { // what has no line end is dropped
		if line == "" {
			switch {
			case data != nil:
				events = append(events, strings.Join(data, "\n")+map[bool]string{true: "!"}[isError])
			case isError:
				events = append(events, comment+"!")
			}
			data, isError, comment = nil, false, ""
			continue
		}
		if line[0] == ':' && comment == "" {
			comment = string(bytes.TrimSpace([]byte(line[1:min(len(line), 1<<10)])))
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "error":
			data, isError = append(data, value), true
		case "event":
			isError = strings.EqualFold(value, "error") && len(value) == len("error")
		}
	}
	return events
}

func TestSSE(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in string
		want     []string
		partial  bool
	}{
		{"one", "data: a\n\n", []string{"a"}, false},
		{"line ends", "data: a\r\n\r\ndata:b\r\rdata\n\n", []string{"a", "b", ""}, false},
		{"BOM", "\xEF\xBB\xBFdata: a\n\n", []string{"a"}, false},
		{"BOM only once", "\n\xEF\xBB\xBFdata: a\n\n", nil, false},
		{"joined, comment", ": hi\n\ndata: x\ndata: y\n: c\ndata\n\n", []string{"x\ny\n"}, false},
		{"fields", "event: e\nid: 1\ndata:  two\nretry: 3\n\nevent: none\n\ndata: end\n", []string{" two"}, true},
		{"error event", "event: error\ndata: bad\n\ndata: good\n\n", []string{"bad!", "good"}, false},
		{"error as a field", "data: a\n\nerror: {\"message\":\"bad\"}\n\nerrors: 1\n\ndata: good\n\n", []string{"a", `{"message":"bad"}!`, "good"}, false},
		{"error without data", "event: error\n\nevent: Error\n: \n: out of memory \n: more\n\ndata: good\n\n", []string{"!", "out of memory!", "good"}, false},
		{"only one space goes", "data:\tx\n\ndata:  y\n\n", []string{"\tx", " y"}, false},
		{"names that begin alike", "datax: no\ndata: z\neventx: error\n\n\n\n\n", []string{"z"}, false},
		{"empty data", "data:\n\ndata:\r\ndata:\r\n\r\n", []string{"", "\n"}, false},
		{"no blank line", "data: lost\n", nil, true},
		{"no line end", "data: a\n\ndata: lo", []string{"a"}, true},
		{"keep-alives", ": ping\n\n: ping\n\n", nil, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if slow := slowSSE(c.in); !slices.Equal(slow, c.want) {
				t.Errorf("the reference: %q, want %q", slow, c.want)
			}
			for i := 0; i <= len(c.in); i++ {
				for j := i; j <= len(c.in); j++ {
					got, partial := sse(c.in, i, j)
					if !slices.Equal(got, c.want) || partial != c.partial {
						t.Fatalf("cut at %d, %d: %q, partial %v; want %q, %v", i, j, got, partial, c.want, c.partial)
					}
				}
			}
		})
	}
}

func FuzzSSE(f *testing.F) {
	f.Add("data: a\r\n\r\ndata:b\r\rdata\n\n", uint16(3), uint16(9))
	f.Add("\uFEFFdata: x\ndata: y\n: c\nevent: error\ndata\n\ndata: cut", uint16(1), uint16(20))
	f.Add("event:error\n\nevent: error\n: why\n\n", uint16(0), uint16(2))
	f.Add("\r\n\r\r\n\n\rdata\r\r\n", uint16(5), uint16(2))
	f.Fuzz(func(t *testing.T, in string, a, b uint16) {
		i := int(a) % (len(in) + 1)
		j := i + int(b)%(len(in)-i+1)
		got, _ := sse(in, i, j)
		if want := slowSSE(in); !slices.Equal(got, want) {
			t.Fatalf("%q cut at %d, %d: %q, want %q", in, i, j, got, want)
		}
	})
}

func TestSSELimit(t *testing.T) {
	t.Parallel()
	for line, most := range map[string]int{"x": 1001, "data: x": 1007, "data: y\n": 4008} {
		s := SSE{Limit: 1000, Event: func([]byte, bool) error { return nil }}
		var err error
		n := 0
		for ; err == nil && n < 10000; n += len(line) {
			err = s.Feed([]byte(line))
		}
		if !errors.Is(err, ErrTooLarge) || n > most {
			t.Errorf("endless %q: %v after %d bytes", line, err, n)
		}
	}
}

func TestSSEStopsAtAnError(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	n := 0
	s := SSE{Event: func([]byte, bool) error { n++; return stop }}
	if err := s.Feed([]byte("data: 1\n\ndata: 2\n\n")); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d events", err, n)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const in = "{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"c\":3}"
	want := []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}
	for i := 0; i <= len(in); i++ {
		for j := i; j <= len(in); j++ {
			var got []string
			l := Lines{Event: func(b []byte) error { got = append(got, string(b)); return nil }}
			for _, piece := range []string{in[:i], in[i:j], in[j:]} {
				if err := l.Feed([]byte(piece)); err != nil {
					t.Fatal(err)
				}
			}
			if !l.Partial() {
				t.Fatal("the last line has no end and is not partial")
			}
			if err := l.EOF(); err != nil || !slices.Equal(got, want) {
				t.Fatalf("cut at %d, %d: %q, %v", i, j, got, err)
			}
		}
	}
}

func TestLinesLimit(t *testing.T) {
	t.Parallel()
	l := Lines{Limit: 10, Event: func([]byte) error { return nil }}
	if err := l.Feed([]byte("0123456789")); err != nil {
		t.Error(err)
	}
	if err := l.Feed([]byte("x")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("past the limit: %v", err)
	}
}
