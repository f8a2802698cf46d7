package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// OpenFile reads a tokenizer.json of Hugging Face's tokenizers library, or the
// one inside the folder path. It covers byte-pair models and the parts they
// are used with; a part it does not know is an error that names it, never a
// wrong count.
func OpenFile(path string) (Tokenizer, error) { return openNamed(path, path) }

func openNamed(name, path string) (Tokenizer, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	tok, err := parseFile(name, data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	return tok, nil
}

// component is a normalizer, a pre-tokenizer or a decoder: its type, and the
// settings of all types together.
type component struct {
	Type          string
	Pattern       pattern
	Behavior      string
	Invert        bool
	Content       json.RawMessage
	Prepend       string
	Replacement   string
	PrependScheme string `json:"prepend_scheme"`
	AddPrefix     *bool  `json:"add_prefix_space"`
	UseRegex      *bool  `json:"use_regex"`
	SplitSpaces   *bool  `json:"split"`
	Individual    bool   `json:"individual_digits"`
	Start, Stop   int
	StripLeft     bool `json:"strip_left"`
	StripRight    bool `json:"strip_right"`
	Normalizers   []component
	Pretokenizers []component
	Decoders      []component
}

type pattern struct {
	String string
	Regex  string
}

// text is the content setting, which is a string where it is used.
func (c *component) text() (s string) {
	if json.Unmarshal(c.Content, &s) != nil {
		return ""
	}
	return s
}

// flatten undoes Sequence.
func flatten(c *component) []component {
	if c == nil {
		return nil
	}
	if c.Type != "Sequence" {
		return []component{*c}
	}
	var all []component
	for _, list := range [][]component{c.Normalizers, c.Pretokenizers, c.Decoders} {
		for i := range list {
			all = append(all, flatten(&list[i])...)
		}
	}
	return all
}

// fileForm is tokenizer.json.
type fileForm struct {
	Added        []addedToken `json:"added_tokens"`
	Normalizer   *component
	PreTokenizer *component `json:"pre_tokenizer"`
	Decoder      *component
	Model        modelForm
}

type modelForm struct {
	Type         string
	Vocab        json.RawMessage
	Merges       []mergeForm
	Unk          *string `json:"unk_token"`
	FuseUnk      bool    `json:"fuse_unk"`
	ByteFallback bool    `json:"byte_fallback"`
	IgnoreMerges bool    `json:"ignore_merges"`
	Prefix       *string `json:"continuing_subword_prefix"`
	Suffix       *string `json:"end_of_word_suffix"`
}

// mergeForm is "left right" or, in newer files, ["left", "right"].
type mergeForm struct{ left, right string }

func (m *mergeForm) UnmarshalJSON(b []byte) error {
	var pair []string
	if b[0] == '[' {
		if err := json.Unmarshal(b, &pair); err != nil {
			return err
		}
	} else {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		pair = strings.Split(s, " ")
	}
	if len(pair) != 2 {
		return fmt.Errorf("a merge of %d parts: %s", len(pair), b)
	}
	m.left, m.right = pair[0], pair[1]
	return nil
}

func parseFile(name string, data []byte) (Tokenizer, error) {
	var f fileForm
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	if f.Model.Type != "BPE" && f.Model.Type != "" || len(f.Model.Merges) == 0 {
		return nil, fmt.Errorf("model type %q: only byte-pair models (BPE with merges) are supported", f.Model.Type)
	}
	t := &fileTokenizer{name: name}
	var err error
	if t.normalize, err = newNormalizers(flatten(f.Normalizer)); err != nil {
		return nil, err
	}
	byteLevel := false
	if t.splits, byteLevel, err = newSplits(flatten(f.PreTokenizer)); err != nil {
		return nil, err
	}
	if t.model, err = newPairModel(&f.Model, byteLevel); err != nil {
		return nil, err
	}
	if t.decode, err = newDecoders(flatten(f.Decoder)); err != nil {
		return nil, err
	}
	t.added = newAddedTokens(f.Added)
	return t, nil
}

var errVocab = errors.New("model: the vocabulary is not an object of numbers")
