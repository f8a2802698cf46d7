package tokenizer_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// tekken is a small tekken.json: the bytes, and a few unions behind them.
func tekken(t *testing.T, change func(config map[string]any, vocab *[]map[string]any)) string {
	t.Helper()
	config := map[string]any{
		"pattern": `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|` +
			`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		"num_vocab_tokens": 261, "default_vocab_size": 10 + 260, "default_num_special_tokens": 10, "version": "v3",
	}
	var vocab []map[string]any
	add := func(text string) {
		vocab = append(vocab, map[string]any{
			"rank":        len(vocab),
			"token_bytes": base64.StdEncoding.EncodeToString([]byte(text)), "token_str": text,
		})
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for _, text := range []string{"11", "ab", " ab", "'s", "beyond"} { // the last one has no id
		add(text)
	}
	if change != nil {
		change(config, &vocab)
	}
	b, err := json.Marshal(map[string]any{
		"config": config, "vocab": vocab,
		"special_tokens": []any{map[string]any{"rank": 3, "token_str": "[INST]"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tekken.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Ranks stand behind the special tokens, which text never becomes; digits stay
// apart, and a contraction is a word like others.
func TestTekken(t *testing.T) {
	t.Parallel()
	tok, err := tokenizer.OpenFile(tekken(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"ab ab": {10 + 257, 10 + 258}, "11": {10 + '1', 10 + '1'}, "a's": {10 + 'a', 10 + 259},
		"I": {10 + 'I'}, "\xff": {10 + 0xff}, "]/": {10 + ']', 10 + '/'},
	} {
		got := tok.Encode(nil, text)
		if fmt.Sprint(got) != fmt.Sprint(want) || tok.Count(text) != len(want) || tok.Decode(got) != text {
			t.Errorf("%q: %v (%q), want %v", text, got, tok.Decode(got), want)
		}
	}
	if got := tok.Decode([]int{3, 10 + 'a'}); got != "[INST]a" {
		t.Errorf("a special token is read back as %q", got)
	}
	for want, change := range map[string]func(map[string]any, *[]map[string]any){
		`tekken.json: the pattern "a" is not known`:        func(c map[string]any, _ *[]map[string]any) { c["pattern"] = "a" },
		"tekken.json: 5 ids with 10 special ones":          func(c map[string]any, _ *[]map[string]any) { c["default_vocab_size"] = 5 },
		"tekken.json: the token of rank 7 has 0 bytes":     func(_ map[string]any, v *[]map[string]any) { (*v)[7]["token_bytes"] = "" },
		"tekken.json: the rank 8 appears twice":            func(_ map[string]any, v *[]map[string]any) { (*v)[7]["rank"] = 8 },
		"tekken.json: not a whole list of ranks: 5 of the": func(_ map[string]any, v *[]map[string]any) { *v = (*v)[5:] },
	} {
		if _, err := tokenizer.OpenFile(tekken(t, change)); err == nil ||
			!strings.Contains(err.Error(), "/tekken.json: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
