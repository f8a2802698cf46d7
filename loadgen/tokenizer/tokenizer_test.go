package tokenizer_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkoukk/tiktoken-go"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// offlineRanks gives tiktoken-go, our reference, the same ranks as ours.
type offlineRanks struct{}

func (offlineRanks) LoadTiktokenBpe(url string) (map[string]int, error) {
	data, err := os.ReadFile(filepath.Join("ranks", strings.TrimSuffix(filepath.Base(url), ".tiktoken")+".ranks"))
	if err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(data))
	at := 4 + n
	ranks := make(map[string]int, n)
	for id, length := range data[4 : 4+n] {
		if length > 0 {
			ranks[string(data[at:at+int(length)])] = id
			at += int(length)
		}
	}
	return ranks, nil
}

var useOfflineRanks = sync.OnceFunc(func() { tiktoken.SetBpeLoader(offlineRanks{}) })

func reference(t testing.TB, name string) *tiktoken.Tiktoken {
	t.Helper()
	useOfflineRanks()
	ref, err := tiktoken.GetEncoding(name)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func open(t testing.TB, name string) tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

var texts = []string{
	"", " ", "  ", "\n", " \n ", "a", "Hello, world!", "hello  world", "tab\tand\r\n\r\n  more \n\n x ",
	"I'm you're THEY'LL can't won'T we'Ve d'd 's '' 'x", "XMLHttpRequest camelCaseWord ABCdef ABC",
	"1 12 123 1234 12345.678 ¾ ⅷ ٣٤٥٦", "über straße ŒUVRE ǅungla ʰa ªb", "e\u0301a\u0300 \u0301\u0301 \u0301x",
	"日本語のテキスト、漢字。", "안녕하세요 세계", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "👩‍👩‍👧‍👦 🇩🇪 🙂🙃",
	"<|endoftext|> and <|fim_prefix|>", "a/b//c/\n/d", "---------- ==== ####\n\n\n", "\u00a0\u2003x\u3000\u0085y",
	"for (int i = 0; i < n; ++i) {\n\t\tx[i] += y;\n    }\n", "https://example.org/a?b=c&d=%20#e", "\x00\x01\u007f",
	strings.Repeat("-", 500), strings.Repeat("ab", 300), strings.Repeat("好", 200), strings.Repeat(" ", 90) + "x",
}

func TestEqualsTiktoken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		tok, ref := open(t, name), reference(t, name)
		compare := func(text string) {
			want := ref.EncodeOrdinary(text)
			got := tok.Encode([]int{}, text)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: Encode(%q) differs (-tiktoken +ours):\n%s", name, text, diff)
			}
			if n := tok.Count(text); n != len(want) {
				t.Errorf("%s: Count(%q) = %d, want %d", name, text, n, len(want))
			}
			if back := tok.Decode(got); back != text {
				t.Errorf("%s: Decode(Encode(%q)) = %q", name, text, back)
			}
		}
		for _, text := range texts {
			compare(text)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 3000 {
			compare(randomText(r))
		}
	}
}

// alphabet holds characters of every class the splitters tell apart, the
// ASCII ones several times.
var alphabet = []rune("aabbeellrrsstvdmLLEERSTVDM''''    \t\n\r/./-_09512¾٣ªʰǅßÉéжЖあ漢\u0301\u0308\u00a0\u2003\u0085\u200b🙂€\u00ad")

func randomText(r *rand.Rand) string {
	var s strings.Builder
	for range 1 + r.IntN(24) {
		s.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return s.String()
}

func FuzzEqualsTiktoken(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	tok, ref := open(f, "o200k_base"), reference(f, "o200k_base")
	old, oldRef := open(f, "cl100k_base"), reference(f, "cl100k_base")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		if strings.ContainsRune(text, 'ſ') { // tiktoken-go does not fold it, the encodings do
			return
		}
		if diff := cmp.Diff(ref.EncodeOrdinary(text), tok.Encode([]int{}, text)); diff != "" {
			t.Errorf("o200k_base, %q (-tiktoken +ours):\n%s", text, diff)
		}
		if diff := cmp.Diff(oldRef.EncodeOrdinary(text), old.Encode([]int{}, text)); diff != "" {
			t.Errorf("cl100k_base, %q (-tiktoken +ours):\n%s", text, diff)
		}
	})
}

// TestLongS holds what OpenAI's own tiktoken says about a contraction with ſ,
// which tiktoken-go does not fold.
func TestLongS(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]int{
		"o200k_base":  {278, 6, 70067, 378, 461, 70067, 87, 480, 31233},
		"cl100k_base": {275, 6, 129, 123, 370, 364, 129, 123, 87, 433, 13575},
	} {
		if diff := cmp.Diff(want, open(t, name).Encode(nil, "it'ſab 'ſx it'S")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStrayBytesSurvive(t *testing.T) {
	t.Parallel()
	for _, name := range tokenizer.Names() {
		for _, text := range []string{"\xff", "a\xc3b \xe6\x97", "\xf0\x9f\x99 x"} {
			tok := open(t, name)
			if back := tok.Decode(tok.Encode(nil, text)); back != text {
				t.Errorf("%s: Decode(Encode(%q)) = %q", name, text, back)
			}
		}
	}
}

func TestDecodeSpecial(t *testing.T) {
	t.Parallel()
	if got := open(t, "builtin").Decode([]int{
		13225, 199999, -1, 1 << 40,
		200018,
	}); got != "Hello<|endoftext|><|endofprompt|>" {
		t.Errorf("Decode = %q", got)
	}
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("The quiet river carried seventeen wooden boats past the mill, and nobody counted them. ",
		100)
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		b.Run(name, func(b *testing.B) {
			tok := open(b, name)
			n := 0
			for b.Loop() {
				n += tok.Count(text)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mtok/s")
		})
	}
}

func ExampleOpen() {
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tok.Name(), tok.Count("Hello, world!"))
	// Output: o200k_base 4
}
