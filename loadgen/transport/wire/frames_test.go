package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// frame makes a message of an AWS event stream.
func frame(messageType, eventType, payload string) string {
	var headers []byte
	for _, h := range [][2]string{{":message-type", messageType}, {":event-type", eventType}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(headers, 7)
		headers = append(binary.BigEndian.AppendUint16(headers, uint16(len(h[1]))), h[1]...)
	}
	headers = append(headers, 1, 'n', 4, 0, 0, 0, 9) // an int32 that nobody asked for
	b := binary.BigEndian.AppendUint32(nil, uint32(frameLeast+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// frames feeds in, cut at cuts.
func frames(in string, cuts ...int) (got []string, partial bool, err error) {
	f := &Frames{Limit: 1 << 16, Message: func(m, e string, p []byte) error {
		got = append(got, m+" "+e+" "+string(p))
		return nil
	}}
	at := 0
	for _, c := range append(slices.Sorted(slices.Values(cuts)), len(in)) {
		if c < at || c > len(in) {
			continue
		}
		if err := f.Feed([]byte(in[at:c])); err != nil {
			return got, false, err
		}
		at = c
	}
	return got, f.Partial(), nil
}

func TestFrames(t *testing.T) {
	t.Parallel()
	in := frame("event", "PayloadPart", "data: a\n\n") + frame("event", "PayloadPart", "") +
		frame("exception", "ModelStreamError", `{"Message":"x"}`)
	want := []string{
		"event PayloadPart data: a\n\n", "event PayloadPart ",
		`exception ModelStreamError {"Message":"x"}`,
	}
	for cut := range len(in) {
		if got, partial, err := frames(in, cut); !slices.Equal(got, want) || partial || err != nil {
			t.Fatalf("cut at %d: %q, partial %v, %v", cut, got, partial, err)
		}
	}
	if got, partial, err := frames(in[:len(in)-1]); len(got) != 2 || !partial || err != nil {
		t.Errorf("a cut stream: %q, partial %v, %v", got, partial, err)
	}
	for i := range in { // no byte can be changed unnoticed
		broken := []byte(in)
		broken[i] ^= 0x10
		if got, partial, err := frames(string(broken)); err == nil && !partial {
			t.Errorf("byte %d changed: %q", i, got)
		}
	}
	large := binary.BigEndian.AppendUint32(nil, 1<<20)
	large = binary.BigEndian.AppendUint32(large, 0)
	large = binary.BigEndian.AppendUint32(large, crc32.ChecksumIEEE(large))
	if _, _, err := frames(string(large)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a message of a megabyte: %v", err)
	}
}

// FuzzFrames: any split of the same bytes gives the same messages, and what was
// framed comes out.
func FuzzFrames(f *testing.F) {
	f.Add("data: x\n\n", "{}", "junk", 3, 40)
	f.Fuzz(func(t *testing.T, a, b, tail string, c1, c2 int) {
		if len(a)+len(b) > 1<<12 {
			return
		}
		in := frame("event", "PayloadPart", a) + frame("event", "chunk", b) + tail
		whole, wholePartial, wholeErr := frames(in)
		parts, partial, err := frames(in, c1%(len(in)+1), c2%(len(in)+1))
		if !slices.Equal(whole, parts) || wholePartial != partial || fmt.Sprint(wholeErr) != fmt.Sprint(err) {
			t.Errorf("whole %q %v %v\nparts %q %v %v", whole, wholePartial, wholeErr, parts, partial, err)
		}
		if len(whole) < 2 || whole[0] != "event PayloadPart "+a || !strings.HasSuffix(whole[1], "chunk "+b) {
			t.Errorf("%q", whole)
		}
	})
}
