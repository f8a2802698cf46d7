package tokenizer_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkoukk/tiktoken-go"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// smallVocab is how many ranks of r50k_base the test's own file has.
const smallVocab = 3000

// smallFile writes the first ranks of r50k_base as a tokenizer.json, so that
// tiktoken-go can tell what is right. A merge's two parts are what the ranks
// below it make of its token.
func smallFile(t testing.TB, preTokenizer string) string {
	t.Helper()
	ranks, err := offlineRanks{}.LoadTiktokenBpe("r50k_base.tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	byID := make([]string, smallVocab)
	for token, id := range ranks {
		if id < smallVocab {
			byID[id] = token
		}
	}
	vocab := map[string]int{}
	var merges []string
	for id, token := range byID {
		vocab[letters(token)] = id
		if len(token) > 1 {
			left, right := lastMerge(ranks, token, id)
			merges = append(merges, letters(left)+" "+letters(right))
		}
	}
	vocab["<|end|>"] = smallVocab
	data, err := json.Marshal(map[string]any{
		"added_tokens":  []any{map[string]any{"id": smallVocab, "content": "<|end|>", "special": true}},
		"normalizer":    map[string]any{"type": "NFC"},
		"pre_tokenizer": json.RawMessage(preTokenizer),
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// letters are the characters that byte-level files write for bytes.
func letters(token string) string {
	var s strings.Builder
	for i := range len(token) {
		b := token[i]
		switch {
		case b <= 32:
			s.WriteRune(256 + rune(b))
		case b >= 127 && b <= 160:
			s.WriteRune(256 + 33 + rune(b-127))
		case b == 173:
			s.WriteRune(256 + 67)
		default:
			s.WriteRune(rune(b))
		}
	}
	return s.String()
}

// lastMerge is how token falls into two under the ranks below its own.
func lastMerge(ranks map[string]int, token string, below int) (left, right string) {
	var parts []string
	for i := range len(token) {
		parts = append(parts, token[i:i+1])
	}
	for len(parts) > 2 {
		best, at := below, -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
	}
	return parts[0], parts[1]
}

const (
	plainByteLevel = `{"type":"ByteLevel","add_prefix_space":false}`
	// The same split by the matcher instead of by hand: the space at the end
	// makes it a pattern that is not known.
	byPattern = `{"type":"Sequence","pretokenizers":[
		{"type":"Split","pattern":{"Regex":"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+|zzz "},"behavior":"Isolated","invert":false},
		{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}`
)

func TestFileEqualsTiktoken(t *testing.T) {
	t.Parallel()
	ranks, err := offlineRanks{}.LoadTiktokenBpe("r50k_base.tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	for token, id := range ranks {
		if id >= smallVocab {
			delete(ranks, token)
		}
	}
	pattern := `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	core, err := tiktoken.NewCoreBPE(ranks, map[string]int{"<|end|>": smallVocab}, pattern)
	if err != nil {
		t.Fatal(err)
	}
	ref := tiktoken.NewTiktoken(core, &tiktoken.Encoding{Name: "small"}, map[string]any{"<|end|>": nil})
	for _, pre := range []string{plainByteLevel, byPattern} {
		tok := open(t, smallFile(t, pre))
		compare := func(text string) {
			want := ref.Encode(text, []string{"all"}, nil)
			got := tok.Encode([]int{}, text)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Encode(%q) differs (-tiktoken +ours):\n%s", text, diff)
			}
			if n := tok.Count(text); n != len(want) {
				t.Errorf("Count(%q) = %d, want %d", text, n, len(want))
			}
			if back := tok.Decode(got); back != text {
				t.Errorf("Decode(Encode(%q)) = %q", text, back)
			}
		}
		for _, text := range texts {
			if !strings.ContainsRune(text, '\u0301') && !strings.ContainsRune(text, '\u0300') { // NFC would change it
				compare(text)
			}
		}
		r := rand.New(rand.NewPCG(3, 4))
		for range 1000 {
			compare(strings.NewReplacer("\u0301", "", "\u0308", "").Replace(randomText(r)))
		}
		compare("a<|end|>b<|end|><|end|> <|end")
		if got, want := tok.Count("e\u0301"), tok.Count("é"); got != want {
			t.Errorf("NFC: Count(e + accent) = %d, Count(é) = %d", got, want)
		}
	}
}

// TestFileParts checks, by hand, the parts that byte-level files do without.
func TestFileParts(t *testing.T) {
	t.Parallel()
	vocab := `"<unk>":0,"<0xE2>":1,"<0x82>":2,"<0xAC>":3,"▁":4,"a":5,"b":6,"ab":7,"▁ab":8,"1":9,"▁a":10,"<s>":11,"11":12`
	merges := `["a b","▁ ab",["▁","a"],["1","1"]]`
	base := func(rest string) string {
		return `{"model":{"type":"BPE","vocab":{` + vocab + `},"merges":` + merges +
			`,"unk_token":"<unk>","fuse_unk":true,"byte_fallback":true},` + rest + `}`
	}
	sentencePiece := `"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
		"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}`
	for _, c := range []struct {
		name, file, text string
		want             []int
		back             string
	}{
		{"prepend and replace", base(sentencePiece), "ab ab", []int{8, 8}, "ab ab"},
		{"byte fallback", base(sentencePiece), "a€", []int{10, 1, 2, 3}, "a€"},
		{"fused unknown", base(sentencePiece), "a日本b", []int{10, 0, 6}, "a<unk>b"},
		{"added token, stripped", base(sentencePiece + `,"added_tokens":[{"id":11,"content":"<s>","lstrip":true,"rstrip":true}]`), "a <s>  b", []int{10, 11, 4, 6}, ""},
		{"added token, whole words", base(sentencePiece + `,"added_tokens":[{"id":11,"content":"<s>","single_word":true}]`), "ab<s> <s> b", []int{8, 0, 4, 11, 4, 4, 6}, ""},
		{"metaspace", base(`"pre_tokenizer":{"type":"Metaspace"},"decoder":{"type":"Metaspace"}`), "ab a", []int{8, 10}, "ab a"},
		{"metaspace, first only", base(`"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"first"},"added_tokens":[{"id":11,"content":"<s>"}]`), "a<s>a", []int{10, 11, 5}, ""},
		{"metaspace, never", base(`"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"never"}`), "ab ab", []int{7, 8}, ""},
		{"digits", base(`"pre_tokenizer":{"type":"Digits","individual_digits":true}`), "a111", []int{5, 9, 9, 9}, ""},
		{"digits in runs", base(`"pre_tokenizer":{"type":"Digits"}`), "a111", []int{5, 12, 9}, ""},
		{"merged with previous", base(`"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithPrevious"}`), "1aab", []int{9, 5, 5, 6}, ""},
		{"merged with next", base(`"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithNext"}`), "11ab", []int{12, 7}, ""},
		{"removed", base(`"pre_tokenizer":{"type":"Split","pattern":{"String":"1"},"behavior":"Removed"}`), "a1b", []int{5, 6}, ""},
		{"contiguous", base(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[ab]"},"behavior":"Contiguous"}`), "11ab", []int{12, 7}, ""},
		{"lower case, stripped", base(`"normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"Strip","strip_left":true,"strip_right":true}]}`), " AB ", []int{7}, "ab"},
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.OpenFile(filepath.Dir(path))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for range 2 { // the second time from the cache
			if diff := cmp.Diff(c.want, tok.Encode(nil, c.text)); diff != "" {
				t.Errorf("%s: Encode(%q) (-want +got):\n%s", c.name, c.text, diff)
			}
		}
		if back := tok.Decode(c.want); c.back != "" && back != c.back {
			t.Errorf("%s: Decode = %q, want %q", c.name, back, c.back)
		}
	}
}

func TestFileRefuses(t *testing.T) {
	t.Parallel()
	model := `"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}`
	for _, c := range []struct{ file, want string }{
		{`hello`, "not a tokenizer.json: not JSON, byte 1: invalid character 'h' looking for beginning of value"},
		{``, "not a tokenizer.json: the file is empty"},
		{`{"model":{"vocab":{"a":`, "not a tokenizer.json: the file ends too early, after 23 bytes: get it again"},
		{`{"model":{"vocab":{"a":0},"merges":["a b`, "not a tokenizer.json: the file ends too early, after 40 bytes: get it again"},
		{`{"model":{"vocab":{"a":true}}}`, "not a tokenizer.json: model: the vocabulary is not an object of numbers"},
		{`{"model":{"type":"Quantum","vocab":{"a":0}}}`, "model Quantum: not known; known are BPE, WordPiece, WordLevel and Unigram"},
		{`{` + model + `,"post_processor":{"type":"Sideways"}}`, "post-processor Sideways: not known"},
		{`{"model":{"type":"WordPiece","vocab":{"a":0}}}`, "model: WordPiece needs its unknown token [UNK] in the vocabulary"},
		{`{"model":{"type":"Unigram","vocab":[["a",-1]],"unk_id":7}}`, "model: unk_id 7 is not in the vocabulary"},
		{`{` + model + `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"}}`, "precompiled_charsmap: too short"},
		{`{}`, "model: the vocabulary is not an object of numbers"},
		{`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, `model: merge 0 ("a", "b") is not in the vocabulary`},
		{`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}}`, `not a tokenizer.json: a merge of 1 parts: "a"`},
		{`{"model":{"type":"BPE","vocab":{"a":-5,"b":1,"ab":2},"merges":["a b"]}}`, `model: token "a" has the id -5`},
		{`{"model":{"type":"BPE","vocab":[],"merges":["a b"]}}`, `model: the vocabulary is not an object of numbers`},
		{`{` + model + `,"normalizer":{"type":"Sideways"}}`, `normalizer Sideways: not supported`},
		{`{` + model + `,"pre_tokenizer":{"type":"Sideways"}}`, `pre-tokenizer Sideways: not supported`},
		{`{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"}}`, "pre-tokenizer Split: pattern \"(\": missing closing )"},
		{`{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Sideways"}}`, `pre-tokenizer Split: behavior Sideways, invert false: not supported`},
		{`{` + model + `,"decoder":{"type":"Sideways"}}`, `decoder Sideways: not supported`},
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Open(path)
		if want := "tokenizer " + path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v\nwant %s", c.file, tok, err, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"builtin", smallFile(t, plainByteLevel)} {
		tok := open(t, name)
		want := make([]int, len(texts))
		for i, text := range texts {
			want[i] = len(tok.Encode(nil, text))
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range texts {
					i = (i + g*5) % len(texts)
					if n := tok.Count(texts[i]); n != want[i] {
						t.Errorf("%s: Count(%q) = %d, want %d", name, texts[i], n, want[i])
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestCaches uses the environment, so it does not run beside others.
func TestCaches(t *testing.T) {
	hub := t.TempDir()
	data, err := os.ReadFile(smallFile(t, plainByteLevel))
	if err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(hub, "hub", "models--acme--tiny", "snapshots", "abc123")
	for path, content := range map[string][]byte{
		filepath.Join(snapshot, "tokenizer.json"):                                               data,
		filepath.Join(hub, "hub", "models--acme--tiny", "refs", "main"):                         []byte("abc123\n"),
		filepath.Join(hub, "hub", "models--acme--tiny", "snapshots", "zzz", "tokenizer.json"):   []byte("{}"),
		filepath.Join(hub, "hub", "models--acme--broken", "snapshots", "x", "tokenizer.json"):   []byte("{}"),
		filepath.Join(hub, "hub", "models--acme--refless", "snapshots", "x1", "tokenizer.json"): data,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HOME", hub)
	for _, model := range []string{"acme/tiny", "acme/refless"} {
		if tok, err := tokenizer.Open(model); err != nil || tok.Name() != model {
			t.Errorf("Open(%s) = %v, %v", model, tok, err)
		}
		if tok, warning := tokenizer.ForModel(model, ""); tok.Name() != model || warning != "" {
			t.Errorf("ForModel(%s) = %s, %q", model, tok.Name(), warning)
		}
	}
	if tok, err := tokenizer.Open("tiny"); err != nil || tok.Name() != "tiny" { // the only model of that name
		t.Errorf("Open(tiny) = %v, %v", tok, err)
	}
	if tok, err := (tokenizer.Ref{Name: "acme/tiny", Revision: "abc123"}).Open(); err != nil ||
		tok.Name() != "acme/tiny" {
		t.Errorf("a commit: %v, %v", tok, err)
	}
	if _, err := (tokenizer.Ref{Name: "acme/tiny", Revision: "v9"}).Open(); err == nil ||
		!strings.Contains(err.Error(), `"acme/tiny" at revision v9: not found`) {
		t.Errorf("a revision that is not there: %v", err)
	}
	const warning = "tokens counted with o200k_base, not the model's tokenizer"
	if tok, got := tokenizer.ForModel("acme/none", ""); tok.Name() != "o200k_base" || got != warning {
		t.Errorf("ForModel(acme/none) = %s, %q", tok.Name(), got)
	}
	if tok, got := tokenizer.ForModel("acme/broken", ""); tok.Name() != "o200k_base" ||
		!strings.HasPrefix(got, warning+" (") {
		t.Errorf("ForModel(acme/broken) = %s, %q", tok.Name(), got)
	}
	t.Setenv("HF_HUB_CACHE", filepath.Join(hub, "elsewhere"))
	_, err = tokenizer.Open("acme/tiny")
	want := fmt.Sprintf(`tokenizer "acme/tiny": not found; looked for a built-in encoding (%s), a file or folder of that name, and %s`,
		strings.Join(tokenizer.Names(), ", "), filepath.Join(hub, "elsewhere", "models--acme--tiny", "snapshots", "*",
			"tokenizer.json"))
	if err == nil || err.Error() != want {
		t.Errorf("Open(acme/tiny) error %v\nwant %s", err, want)
	}
}

// Nothing that a file says makes the reader panic.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b",["a","b"]]}}`,
		`{"model":{"vocab":[["a",-1.5],["b",-2]],"unk_id":0}}`,
		"IQ== 0\nIg== 1\n", "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02", `{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"##a":1}}}`,
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "tokenizer.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Skip(err)
		}
		if tok, err := tokenizer.OpenFile(path); err == nil {
			tok.Decode(tok.Encode(nil, "ab ▁b日本 \x00\xff"))
		}
	})
}

// A file that is damaged is told as the kind of file it is.
func TestDamagedFilesByTheirKind(t *testing.T) {
	t.Parallel()
	var ranks strings.Builder
	for b := range 256 {
		fmt.Fprintf(&ranks, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b)
	}
	dir := t.TempDir()
	for _, c := range []struct{ name, content, want string }{
		{"cl100k_sound.tiktoken", ranks.String(), ""},
		{"nameless.tiktoken", ranks.String(), "a list of 256 ranks does not say how to split text into words"},
		{"twice.tiktoken", "IQ== 0\nIg== 0\n", "line 2: the rank 0 stands on an earlier line, too"},
		{"few.tiktoken", "IQ== 0\nIg== 1\n", "not a whole list of ranks: 254 of the 256 bytes have no token, the first is 0x00"},
		{"cut.tiktoken", ranks.String()[:ranks.Len()/2], "line 135: want a token in base64 and its rank"},
		{"garbage.tiktoken", "garbage", "line 1: want a token in base64 and its rank"},
		{"tiktoken.model", "garbage", "line 1: want a token in base64 and its rank"},
		{"tokenizer.model", "garbage", "not a SentencePiece model: "},
		{"page.model", "<!doctype html>", "not a SentencePiece model: "},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tokenizer.OpenFile(path)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "tokenizer "+path+": "+c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	none := t.TempDir()
	want := none + ": holds no tokenizer (tokenizer.json, tekken.json, tokenizer.model, tiktoken.model, qwen.tiktoken)"
	if _, err := tokenizer.OpenFile(none); err == nil || err.Error() != "tokenizer "+want {
		t.Errorf("a folder without one: %v, want %s", err, want)
	}
	if err := (tokenizer.Ref{Name: none}).Check(); err == nil || err.Error() != want {
		t.Errorf("Check of it: %v, want %s", err, want)
	}
}

// What is no tokenizer is one line that names the file, whatever its kind.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join("testdata", "wordpiece.json"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(unpacked(t, filepath.Join("testdata", "sp_bpe.model.gz"), "sp.model"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"half.json": whole[:len(whole)/2], "half.model": model[:len(model)/2], "zip.json": []byte("PK\x03\x04nothing of use"),
		"page.json": []byte("<!doctype html><title>Sign in</title>"), "pointer.json": []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
		"empty.json": nil, "nul.json": make([]byte, 100), "ranks.tiktoken": []byte("IQ== 0\nIg== one\n"),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tokenizer.OpenFile(path)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := filepath.Join(dir, "large.json")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil {
		t.Skip(err) // a file system without holes
	}
	if _, err := tokenizer.OpenFile(large); err == nil ||
		!strings.Contains(err.Error(), "not a file of at most 256 MiB") {
		t.Errorf("a file of a terabyte: %v", err)
	}
}
