package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Each component that a tokenizer.json can have does what it does in the
// reference library: gen/golden/components.py made the strings and the hashes.
func TestComponents(t *testing.T) {
	t.Parallel()
	var golden struct {
		Strings []string
		Models  map[string]json.RawMessage
		Cases   []struct {
			Name, Model, Want string
			Parts             map[string]json.RawMessage
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "components.json"))
	if err == nil {
		err = json.Unmarshal(b, &golden)
	}
	if err != nil || len(golden.Cases) < 50 || len(golden.Strings) < 200 {
		t.Fatalf("%v; %d cases, %d strings", err, len(golden.Cases), len(golden.Strings))
	}
	for _, c := range golden.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			file := maps.Clone(c.Parts)
			file["model"] = golden.Models[c.Model]
			b, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			tok, err := tokenizer.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h := fnv.New32a()
			for i, s := range golden.Strings {
				if i > 0 {
					h.Write([]byte{'\n'})
				}
				h.Write([]byte(strings.ReplaceAll(strings.Trim(fmt.Sprint(tok.Encode(nil, s)), "[]"), " ", ",")))
			}
			if got := fmt.Sprintf("%08x", h.Sum32()); got != c.Want {
				t.Errorf("the ids of %d strings have the hash %s, want %s", len(golden.Strings), got, c.Want)
			}
		})
	}
}

// What the reference's patterns can say and the matcher here cannot is refused
// by its name: nothing is counted by another pattern.
func TestPatternsRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`[[:alpha:]]+`:   `[:alpha:]]: not supported`,
		`[a[^b]]`:        "this nesting of brackets, and of && in them: not supported",
		`[^a&&[^b]]`:     "this nesting of brackets, and of && in them: not supported",
		`[a&&b]`:         "this nesting of brackets, and of && in them: not supported",
		`a\R`:            `\R: not supported`,
		`(?m:a)`:         `the group (?m:a: not supported`,
		`[a`:             "a bracket that is not closed",
		`a\`:             "it ends in a backslash",
		`\p{Letters}`:    "unknown",
		`\x{110000}`:     `\x{11000: no character`,
		`(`:              "missing closing )",
		`*a`:             "missing argument to repetition operator",
		`\pL`:            `\pL: no property`,
		`(?<name>a)\k<n`: "the group (?<na: not supported",
	} {
		b, err := json.Marshal(map[string]any{
			"model":         map[string]any{"type": "WordLevel", "vocab": map[string]int{"[UNK]": 0}, "unk_token": "[UNK]"},
			"pre_tokenizer": map[string]any{"type": "Split", "pattern": map[string]string{"Regex": pattern}, "behavior": "Isolated", "invert": false},
		})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = tokenizer.OpenFile(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), fmt.Sprintf("pattern %q: ", pattern)) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

// Bytes that are not UTF-8 reach a tokenizer.json's model as Python's decoder
// hands them to the reference: one U+FFFD for each part that could have begun
// a character.
func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(`{"model":{"type":"WordLevel","vocab":{"?":0,"`+"\ufffd"+`":1,"a":2,"é":3},"unk_token":"?"},
		"pre_tokenizer":{"type":"FixedLength","length":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"\xff": {1}, "a\xc3": {2, 1}, "\xc3\xa9": {3}, "\xe6\x97a": {1, 2}, "\xf0\x9f\x99": {1}, "\xf0\x9f\x99a": {1, 2},
		"\xed\xa0\x80": {1, 1, 1}, "\xc0\xaf": {1, 1}, "\xf4\x90\x80\x80": {1, 1, 1, 1}, "\xe0\x80\x80": {1, 1, 1}, "\xf5\x80": {1, 1}, "\xe2\x82\xe2\x82": {1, 1},
	} {
		if got := tok.Encode(nil, text); fmt.Sprint(got) != fmt.Sprint(want) || tok.Count(text) != len(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
