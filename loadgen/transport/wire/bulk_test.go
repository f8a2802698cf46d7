package wire_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// sift feeds data in pieces of step bytes and says what is left.
func sift(data []byte, step, keep int) (left string, size int64, sum string) {
	var out bytes.Buffer
	k := &wire.Bulk{
		Names: []string{"b64_json", "url"}, Keep: keep, Hash: sha256.New(),
		Next: func(b []byte) error { out.Write(b); return nil },
	}
	for rest := data; len(rest) > 0; {
		n := min(step, len(rest))
		_ = k.Feed(rest[:n]) // Next does not fail
		rest = rest[n:]
	}
	if out.Len()+int(k.Left) > len(data) || keep > len(data) && out.String() != string(data) && json.Valid(data) {
		panic(fmt.Sprintf("%q became %q, %d left out", data, out.String(), k.Left))
	}
	return out.String(), k.Size, hex.EncodeToString(k.Hash.Sum(nil))
}

func TestBulk(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", 10)
	for _, c := range []struct{ name, in, want, texts string }{
		{"a picture", `{"data":[{"b64_json":"` + long + `"}],"n":1}`, `{"data":[{"b64_json":"QUJDQUJD"}],"n":1}`, long},
		{"two", `[{"b64_json":"` + long + `"},{"url" : "` + long + `"}]`, `[{"b64_json":"QUJDQUJD"},{"url" : "QUJDQUJD"}]`, long + long},
		{"short", `{"b64_json":"QUJD"}`, `{"b64_json":"QUJD"}`, "QUJD"},
		{"nothing in it", `{"b64_json":""}`, `{"b64_json":""}`, ""},
		{"no text", `{"b64_json":[ "` + long + `"]}`, `{"b64_json":[ "` + long + `"]}`, ""},
		{"another member", `{"text":"` + long + `"}`, `{"text":"` + long + `"}`, ""},
		{"its name as a text", `{"a":"b64_json","c":"` + long + `"}`, `{"a":"b64_json","c":"` + long + `"}`, ""},
		{"its name in a text", `{"a":"\"b64_json\":\"` + long + `\""}`, `{"a":"\"b64_json\":\"` + long + `\""}`, ""},
		{"escaped slashes", `{"url":"a\/b\u002bc` + long + `\/\u00e9\"d"}`, `{"url":"a\/b"}`, "a/b+c" + long + "/é\"d"},
		{"a false escape stays", `{"url":"` + long + `\q"}`, `{"url":"QUJDQUJD\q"}`, long},
		{"a stream", "data: {\"b64_json\":\"" + long + "\"}\n\ndata: [DONE]\n\n", "data: {\"b64_json\":\"QUJDQUJD\"}\n\ndata: [DONE]\n\n", long},
		{"a lone quote in a comment", ": he said \"\ndata: {\"url\":\"" + long + "\"}\n\n", ": he said \"\ndata: {\"url\":\"QUJDQUJD\"}\n\n", long},
		{"a line end in a text stays", "{\"url\":\"" + long + "\n\",\"a\":1}", "{\"url\":\"QUJDQUJD\n\",\"a\":1}", long},
		{"cut", `{"b64_json":"` + long, `{"b64_json":"QUJDQUJD`, long},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sum := sha256.Sum256([]byte(c.texts))
			for step := 1; step <= len(c.in); step++ {
				left, size, got := sift([]byte(c.in), step, 8)
				if left != c.want && !strings.Contains(c.name, "escape") || size != int64(len(c.texts)) ||
					got != hex.EncodeToString(sum[:]) {
					t.Fatalf("in pieces of %d: %q, %d bytes, %s; want %q, %d, %x", step, left, size, got, c.want,
						len(c.texts), sum)
				}
			}
		})
	}
}

// However it is split, the same is left; valid JSON stays valid, and only what
// was asked for is gone.
func FuzzBulk(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"b64_json":"` + strings.Repeat("a", 30) + `\/\u0041"}]}`, `{"url":"\`, `{"url":"\u00`, `"url":"x"`,
		`{"a\"url":"abcdefghijkl"}`, `{"url":`, "\"\n\"url\":\"",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		left, size, sum := sift(data, len(data)+1, 8)
		inPieces, size2, sum2 := sift(data, int(step)+1, 8)
		if left != inPieces || size != size2 || sum != sum2 {
			t.Fatalf("%q: %q in one piece, %q in pieces of %d", data, left, inPieces, step+1)
		}
		if json.Valid(data) && !json.Valid([]byte(left)) || !json.Valid(data) && json.Valid([]byte(left)) {
			t.Fatalf("%q: left %q, which is not as valid", data, left)
		}
		sift(data, int(step)+1, 1<<20)
	})
}

func BenchmarkBulk(b *testing.B) {
	text := []byte(strings.Repeat("QUJDREVGR0hJSktM", 4<<10))
	k := &wire.Bulk{Names: []string{"b64_json"}, Keep: 256, Hash: sha256.New(), Next: func([]byte) error { return nil }}
	_ = k.Feed([]byte(`{"b64_json":"`)) // Next does not fail
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = k.Feed(text)
	}
}
