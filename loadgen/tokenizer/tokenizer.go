// Package tokenizer counts, encodes and decodes text as a model would. In goes
// a name (a built-in encoding, a tokenizer.json, or a model found in the local
// caches), out comes a Tokenizer. Nothing is ever fetched from a network.
//
// Text is first cut into pieces (words, runs of punctuation, numbers) by a
// splitter, then each piece is merged from bytes into tokens, lowest rank
// first. Special tokens inside text are counted as the plain text they are in
// the built-in encodings, and as themselves where a tokenizer.json says so.
package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Tokenizer is safe for concurrent use.
type Tokenizer interface {
	Name() string
	// Encode appends the ids of text to dst.
	Encode(dst []int, text string) []int
	// Decode is the text of ids. Ids the tokenizer does not know are left out.
	Decode(ids []int) string
	// Count is len(Encode(nil, text)) without keeping the ids.
	Count(text string) int
}

// Default is the encoding counted with when nothing better is at hand.
const Default = "o200k_base"

// Open finds a tokenizer: "builtin" or the name of a built-in encoding, the
// path of a tokenizer.json or of a folder that holds one, or a model name
// (org/model) that a local Hugging Face cache holds.
func Open(name string) (Tokenizer, error) {
	if name == "" || name == "builtin" {
		name = Default
	}
	if e := encodingNamed(name); e != nil {
		return e.open(), nil
	}
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	return openNamed(name, path)
}

// Check says why Open would not find name, without reading a vocabulary; nil
// when it would.
func Check(name string) error {
	if name == "" || name == "builtin" || encodingNamed(name) != nil {
		return nil
	}
	path, err := find(name)
	if err != nil {
		return err
	}
	path = inFolder(path)
	if _, err := os.Stat(path); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("tokenizer: %s: %w", path, err)
	}
	return nil
}

// find is the file or folder of a tokenizer that is not built in.
func find(name string) (string, error) {
	if looksLikePath(name) {
		return name, nil
	}
	path, looked := findInCaches(name)
	if path != "" {
		return path, nil
	}
	return "", fmt.Errorf("tokenizer %q: not found; looked for a built-in encoding (%s), a file or folder of that name, and %s",
		name, strings.Join(Names(), ", "), strings.Join(looked, ", "))
}

// ForModel is the tokenizer of a model when none was named: the model's own if
// a local cache holds it, else the default encoding and a warning for people.
func ForModel(model string) (tok Tokenizer, warning string) {
	fallback := "counts by " + Default + ", not by the model's tokenizer"
	path, _ := findInCaches(model)
	if path == "" {
		return encodingNamed(Default).open(), fallback
	}
	own, err := openNamed(model, path)
	if err != nil {
		return encodingNamed(Default).open(), fmt.Sprintf("%s (%v)", fallback, err)
	}
	return own, ""
}

// looksLikePath tells a path from a model name: it is absolute, starts with a
// dot, ends in .json, or exists.
func looksLikePath(name string) bool {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".json") ||
		strings.HasSuffix(name, ".model") || strings.HasSuffix(name, ".tiktoken") {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}
