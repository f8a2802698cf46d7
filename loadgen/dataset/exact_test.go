package dataset_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Prompts have their exact length from one token to a hundred thousand, in the
// built-in vocabularies and, with AIPERF_VOCABULARIES, in those that lie in
// build/tokenizers.
func TestLengthsFromOneToAHundredThousand(t *testing.T) {
	t.Parallel()
	vocabularies := []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"}
	if os.Getenv("AIPERF_VOCABULARIES") != "" { // minutes, not seconds
		here, _ := filepath.Glob("../../build/tokenizers/*/tokenizer.json") // the pattern is sound
		if len(here) == 0 {
			t.Log("build/tokenizers holds no vocabulary: only the built-in ones are looked at; AIPERF_VOCABULARIES=fetch go test ./loadgen/tokenizer -run Golden fetches ten")
		}
		vocabularies = append(vocabularies, here...)
	}
	for _, name := range vocabularies {
		tk := tok(t, name)
		c, err := synth.NewCorpus("sonnet", "", tk)
		if err != nil {
			t.Fatal(err)
		}
		w := c.Writer(synth.NewStream(1, "text"))
		for k, n := range []int{1, 2, 17, 1000, 100000} {
			if got := tk.Count(w.Text(k, n)); got != n {
				t.Errorf("%s: a prompt of %d tokens has %d", name, n, got)
			}
		}
	}
}

// Small vocabularies of every other kind of model have few words of one token;
// their prompts have their exact length all the same.
func TestLengthsInEveryKindOfModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wordpiece", "unigram", "bpe_suffix", "wordlevel"} {
		tk := tok(t, filepath.Join("..", "tokenizer", "testdata", name+".json"))
		c, err := synth.NewCorpus("sonnet", "", tk)
		if err != nil {
			t.Fatal(err)
		}
		w := c.Writer(synth.NewStream(1, "text"))
		for k, n := range []int{1, 2, 17, 1000} {
			if got := tk.Count(w.Text(k, n)); got != n {
				t.Errorf("%s: a prompt of %d tokens has %d", name, n, got)
			}
		}
	}
}

// BenchmarkPrompts makes a thousand prompts of a thousand tokens.
func BenchmarkPrompts(b *testing.B) {
	tk, err := tokenizer.Open("o200k_base")
	if err != nil {
		b.Fatal(err)
	}
	tokens := 0
	for b.Loop() {
		set, err := dataset.Open(synthetic(1000, fixed(1000)), tk, 1, "profiling")
		if err != nil {
			b.Fatal(err)
		}
		tokens += set.Len() * 1000
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

// BenchmarkEncode encodes code of a hundred thousand tokens.
func BenchmarkEncode(b *testing.B) {
	tk, err := tokenizer.Open("o200k_base")
	if err != nil {
		b.Fatal(err)
	}
	c, err := synth.NewCorpus("coding", "", tk)
	if err != nil {
		b.Fatal(err)
	}
	text := c.Writer(1).Text(1, 100000)
	var ids []int
	for b.Loop() {
		ids = tk.Encode(ids[:0], text)
	}
	b.ReportMetric(float64(len(ids))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

// BenchmarkAnalyze analyses a hundred thousand rows of about ten blocks.
func BenchmarkAnalyze(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]trace.Row, 100000)
	next := int32(1000)
	for i := range rows {
		blocks := make([]int32, 0, 12)
		for k := range 2 + r.IntN(4) {
			blocks = append(blocks, int32(100*k)+r.Int32N(8))
		}
		for range 1 + r.IntN(12) {
			blocks = append(blocks, next)
			next++
		}
		rows[i] = trace.Row{In: int64(len(blocks) * 512), Out: 100, Blocks: blocks}
	}
	b.ReportAllocs()
	for b.Loop() {
		trace.Analyze(rows, 512)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*10, "s/Mrows")
}

// What is wrong with a file is said in one line with the place, before anything
// could be sent.
func TestBadInputsHaveAPlace(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"text":"a"}`+"\n", 6)
	for _, c := range []struct {
		what, name, content, want string
	}{
		{"half-written JSON", "f.jsonl", many + `{"text":"b`, "f.jsonl:7: not a JSON object: unexpected end of JSON input"},
		{"bad line 7 of many", "f.jsonl", many + "{]\n" + strings.Repeat(many, 100), "f.jsonl:7: not a JSON object"},
		{"mixed formats", "f.jsonl", many + `{"turns":[{"text":"a"}]}`, "f.jsonl:7: not single_turn like the records before it"},
		{"NUL bytes", "f.jsonl", many + "{\"text\":\"\x00\"}", "f.jsonl:7: a NUL byte at byte 10: not text in UTF-8"},
		{"a comment in a document", "f.json", "[\n {\"text\":\"a\"}, // one\n {\"text\":\"b\"}\n]", "f.json:2:16: JSON has no comments"},
		{"a comment within a record", "f.json", "[\n {\"text\":\"a\"},\n {\n  # one\n \"text\":\"b\"}\n]", "f.json:4:3: JSON has no comments"},
		{"no comma between records", "f.json", "[\n {\"text\":\"a\"}\n {\"text\":\"b\"}\n]", "f.json:3:2: no comma between two values"},
		{"no comma between members", "f.json", "[{\"text\":\"a\",\n \"texts\":[1]\n \"delay\":1}]", "f.json:3:2: no comma between two values"},
		{"no colon", "f.json", "[{\"text\" \"a\"}]", "f.json:1:10: not JSON: invalid character '\"' after object key"},
		{"a place far behind", "f.json", "[" + strings.Repeat("{\"text\":\"a\"},\n", 20_000) + "{text:1}]", "f.json:20001:2: not JSON: invalid character 't'"},
		{"a document that ends early", "f.json", `[{"text":"a"},{"text":`, "f.json[1]: the JSON document ends too early"},
		{"a path that escapes", "f.jsonl", `{"text":"a","image":"../../../etc/passwd"}`, "f.jsonl:1: image 1: ../../../etc/passwd"},
		{"an image that is none", "f.jsonl", `{"text":"a","image":"f.jsonl"}`, "f.jsonl:1: image 1: f.jsonl: is no image"},
		{"hashes that disagree with lengths", "f.jsonl", `{"input_length":600,"hash_ids":[1]}` + "\n" + `{"input_length":100,"hash_ids":[1,2]}`, "f.jsonl:2: 2 hash ids of 512 tokens disagree with 100 input tokens"},
		{"a broken Parquet file", "f.parquet", "PAR1 and nothing else", "f.parquet: not a sound Parquet file"},
		{"a Parquet file without its end", "f.parquet", "PAR1garbagePAR1", "f.parquet: not a sound Parquet file"},
		{"a table that is no Parquet", "f.parquet", "a,b\n1,2\n", "f.parquet: is not a Parquet file: it does not begin with PAR1"},
		{"a session of two modes", "f.jsonl", `{"timestamp":0,"session_id":"a","messages":[{"role":"user"}]}` + "\n" + `{"session_id":"a","messages":[{"role":"user"}],"message_mode":"delta"}`, "f.jsonl:2: message_mode: delta, in a session that began with history"},
		{"gzip that is none", "f.jsonl.gz", "\x1f\x8b\x00\x00", "f.jsonl.gz: "},
		{"a table without text", "f.csv", "a,b\n1,2\n", "f.csv:2: fields a, b fit no known format"},
		{"a row longer than its head", "f.csv", "text\na,b\n", "f.csv:2: the row does not have as many cells as the first line has names (1)"},
	} {
		path := write(t, c.name, c.content)
		_, err := dataset.Open(schema.Dataset{Type: "file", Path: path}, tok(t, "builtin"), 1, "profiling")
		if err == nil || !strings.HasPrefix(err.Error(), filepath.Dir(path)+string(filepath.Separator)+c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", c.what, err, c.want)
		}
	}
	back := write(t, "f.jsonl", `{"timestamp":9,"input_length":5}`+"\n"+`{"timestamp":3,"input_length":5}`+"\n")
	set := open(t, schema.Dataset{Type: "file", Path: back}, tok(t, "builtin"), 1, "profiling")
	want := fmt.Sprintf("%s:2: time stamps go back here; the trace is played in the order of time", back)
	if !slices.Equal(set.Notes(), []string{want}) || !slices.Equal(set.Doubts(), []string{want}) {
		t.Errorf("notes %q, doubts %q, want %q", set.Notes(), set.Doubts(), want)
	}
}

// A hash that stands for a short last block and for a whole one is said once; the
// prompts share as many tokens as are foretold.
func TestHashOfTwoLengths(t *testing.T) {
	t.Parallel()
	path := write(t, "f.jsonl", `{"input_length":600,"hash_ids":[1,2]}
{"input_length":1500,"hash_ids":[1,2,3]}
{"input_length":550,"hash_ids":[1,2]}
`)
	tk := tok(t, "o200k_base")
	set := open(t, schema.Dataset{Type: "file", Path: path}, tk, 1, "profiling")
	want := path + ":2: hash id 2 of 3 stands for 512 tokens here and for 88 before; the shorter block counts as the beginning of the longer one"
	if !slices.Equal(set.Doubts(), []string{want}) {
		t.Errorf("doubts %q, want %q", set.Doubts(), want)
	}
	whole := tk.Encode(nil, set.At(1).Turns[0].Texts[0])
	for i, n := range map[int]int{0: 600, 2: 550} {
		if ids := tk.Encode(nil, set.At(i).Turns[0].Texts[0]); len(ids) != n ||
			len(whole) != 1500 || !slices.Equal(ids, whole[:n]) {
			t.Errorf("prompt %d has %d tokens, want %d that begin the %d of the longer one", i, len(ids), n, len(whole))
		}
	}
	tr, err := format.ReadTrace(t.Context(), path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, known := trace.Analyze(tr.Rows, tr.Block).TokenHitRate, (600.0+550)/2650; math.Abs(got-known) > 1e-12 {
		t.Errorf("token hit rate %g, want %g", got, known)
	}
}
