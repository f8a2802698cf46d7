package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// OpenFile reads a tokenizer.json of Hugging Face's tokenizers library, or the
// one inside the folder path, or one of the other kinds of file in use:
// SentencePiece's tokenizer.model, tiktoken's lists of ranks and Mistral's tekken.json. A part it does
// not know is an error that names it, never a wrong count.
func OpenFile(path string) (Tokenizer, error) { return openNamed(path, path) }

func openNamed(name, path string) (Tokenizer, error) {
	path, err := located(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %w", err)
	}
	st, err := os.Stat(path)
	if err == nil && (st.Size() > maxFile || !st.Mode().IsRegular()) {
		return nil, fmt.Errorf("tokenizer %s: not a file of at most %d MiB", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	tok, err := parserOf(path, data)(name, data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	return tok, nil
}

// parserOf is the reader of a file by what it begins with, else, where that is
// none of the kinds, by what it is called: its error says what is wrong with it.
func parserOf(path string, data []byte) func(name string, data []byte) (Tokenizer, error) {
	ranked := func(name string, data []byte) (Tokenizer, error) { return parseRanks(name, path, data) }
	base := filepath.Base(path)
	switch {
	case looksLikeRanks(data):
		return ranked
	case len(data) > 0 && data[0] == 0x0a:
		return parseSentencePiece
	case looksLikeTekken(data):
		return parseTekken
	case bytes.HasPrefix(data, []byte("{")):
		return parseFile
	case base == "tiktoken.model" || filepath.Ext(base) == ".tiktoken":
		return ranked
	case filepath.Ext(base) == ".model":
		return parseSentencePiece
	}
	return parseFile
}

// maxFile bounds a tokenizer's file, in bytes: the largest in use has 34 MB.
const maxFile = 256 << 20

// fileNames are the tokenizer files of a model's folder, the best first.
var fileNames = []string{"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "qwen.tiktoken"}

// located is inFolder, or an error that says what a folder without a tokenizer
// was searched for. The error does not say that it is about a tokenizer.
func located(path string) (string, error) {
	file := inFolder(path)
	if file != path && !exists(file) {
		return "", fmt.Errorf("%s: holds no tokenizer (%s)", path, strings.Join(fileNames, ", "))
	}
	return file, nil
}

// inFolder is the tokenizer file of a folder; a path of another kind is itself.
func inFolder(path string) string {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return path
	}
	for _, name := range fileNames {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return filepath.Join(path, name)
		}
	}
	return filepath.Join(path, fileNames[0])
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
	StripLeft     bool   `json:"strip_left"`
	StripRight    bool   `json:"strip_right"`
	CleanText     *bool  `json:"clean_text"`
	ChineseChars  *bool  `json:"handle_chinese_chars"`
	StripAccents  *bool  `json:"strip_accents"`
	Lowercase     *bool  `json:"lowercase"`
	CharsMap      string `json:"precompiled_charsmap"`
	Delimiter     string `json:"delimiter"`
	Length        int    `json:"length"`
	Suffix        string `json:"suffix"`
	Prefix        string `json:"prefix"`
	Cleanup       *bool  `json:"cleanup"`
	PadToken      string `json:"pad_token"`
	WordDelimiter string `json:"word_delimiter_token"`
	Processors    []component
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
	for _, list := range [][]component{c.Normalizers, c.Pretokenizers, c.Decoders, c.Processors} {
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
	PostProc     *component `json:"post_processor"`
	Model        modelForm
}

type modelForm struct {
	Type         string
	Unk          *string `json:"unk_token"`
	FuseUnk      bool    `json:"fuse_unk"`
	ByteFallback bool    `json:"byte_fallback"`
	IgnoreMerges bool    `json:"ignore_merges"`
	Prefix       *string `json:"continuing_subword_prefix"`
	Suffix       *string `json:"end_of_word_suffix"`
	MaxChars     int     `json:"max_input_chars_per_word"`
	UnkID        *int32  `json:"unk_id"`

	lists *bulk // vocabulary and merges
}

// kind is the model's type; old files leave it out.
func (f *modelForm) kind() string {
	switch {
	case f.Type != "":
		return f.Type
	case len(f.lists.merges) > 0:
		return "BPE"
	case len(f.lists.scored) > 0:
		return "Unigram"
	}
	return "WordPiece"
}

func parseFile(name string, data []byte) (Tokenizer, error) {
	lists, rest, err := split(string(data))
	if err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", damage(data, err))
	}
	f := fileForm{Model: modelForm{lists: lists}}
	if err := json.Unmarshal(rest, &f); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", damage(data, err))
	}
	makeModel, ok := models[f.Model.kind()]
	if !ok {
		return nil, fmt.Errorf("model %s: not known; known are BPE, WordPiece, WordLevel and Unigram", f.Model.kind())
	}
	if err := checkPostProcessor(flatten(f.PostProc)); err != nil {
		return nil, err
	}
	t := &fileTokenizer{name: name}
	if t.normalize, err = newNormalizers(flatten(f.Normalizer), &t.trouble); err != nil {
		return nil, err
	}
	byteLevel := false
	if t.splits, byteLevel, err = newSplits(flatten(f.PreTokenizer), &t.trouble); err != nil {
		return nil, err
	}
	normalizers := flatten(f.Normalizer)
	for i, c := range normalizers {
		if c.Type != "ByteLevel" {
			continue
		}
		if byteLevel || i+1 < len(normalizers) {
			return nil, errors.New("normalizer ByteLevel: not the last step on the text as text: not supported")
		}
		byteLevel = true
		if len(t.splits) > 0 {
			t.splits = []splitter{inLetters(t.splits)}
		}
	}
	if t.model, err = makeModel(&f.Model, byteLevel); err != nil {
		return nil, err
	}
	if t.decode, err = newDecoders(flatten(f.Decoder)); err != nil {
		return nil, err
	}
	t.added = newAddedTokens(f.Added, t.normalize, t.model.id)
	return t, nil
}

// damage is what is wrong with data as JSON, else what a reader found: err.
func damage(data []byte, err error) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var syntax *json.SyntaxError
	switch {
	case len(data) == 0:
		return errors.New("the file is empty")
	case !errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax):
		return err
	case errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)), io.ErrUnexpectedEOF):
		return fmt.Errorf("the file ends too early, after %d bytes: get it again", len(data))
	}
	return fmt.Errorf("%w, byte %d: %w", errJSON, syntax.Offset, syntax)
}

// checkPostProcessor refuses what is not known. Post-processors add special
// tokens around a text, which are not counted, and change nothing inside it.
func checkPostProcessor(list []component) error {
	for i := range list {
		switch list[i].Type {
		case "TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel":
		default:
			return fmt.Errorf("post-processor %s: not known", list[i].Type)
		}
	}
	return nil
}

var errVocab = errors.New("model: the vocabulary is not an object of numbers")
