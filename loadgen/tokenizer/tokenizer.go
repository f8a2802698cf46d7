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

	"aiperf.dev/aiperf/internal/diag"
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

// Err is why the counts of tok mean nothing any more; nil while they are sound.
func Err(tok Tokenizer) error {
	if t, ok := tok.(interface{ Err() error }); ok {
		return t.Err()
	}
	return nil
}

// Default is the encoding counted with when nothing better is at hand.
const Default = "o200k_base"

// Server is the name of the tokenizer that the measured server has. It is asked
// where there is one (see the room remote); Open knows none.
const Server = "server"

// Ref names a tokenizer: "builtin" or a built-in encoding, the path of a
// tokenizer.json or of a folder that holds one, or a model (org/model) that a
// local Hugging Face cache holds, at a revision.
type Ref struct {
	Name     string // "" is builtin
	Revision string // branch, tag or commit of a cached model; "" is main
}

// Open finds the tokenizer called name.
func Open(name string) (Tokenizer, error) { return Ref{Name: name}.Open() }

// Open finds the tokenizer and reads it.
func (r Ref) Open() (Tokenizer, error) {
	if r.BuiltIn() {
		if r.Name == Server {
			return nil, diag.Errorf("tokenizer server: no server is measured here that could be asked").
				Try("name a tokenizer, or use builtin")
		}
		if r.Name == "" || r.Name == "builtin" {
			r.Name = Default
		}
		return encodingNamed(r.Name).open(), nil
	}
	path, err := r.find()
	if err != nil {
		return nil, fmt.Errorf("tokenizer %w", err)
	}
	return openNamed(r.Name, path)
}

// BuiltIn tells whether no file is needed: an encoding of this program, or the server's.
func (r Ref) BuiltIn() bool {
	return r.Name == "" || r.Name == "builtin" || r.Name == Server || encodingNamed(r.Name) != nil
}

// Check says why Open would not find the tokenizer, without reading a
// vocabulary; nil when it would. The error does not say that it is about a
// tokenizer.
func (r Ref) Check() error {
	if r.BuiltIn() {
		return nil
	}
	path, err := r.find()
	if err != nil {
		return err
	}
	if path, err = located(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// find is the file or folder of a tokenizer that is not built in.
func (r Ref) find() (string, error) {
	if looksLikePath(r.Name) {
		return r.Name, nil
	}
	path, looked := findInCaches(r.Name, r.Revision)
	if path != "" {
		return path, nil
	}
	at := ""
	if r.Revision != "" && r.Revision != "main" {
		at = " at revision " + r.Revision
	}
	return "", fmt.Errorf("%q%s: not found; looked for a built-in encoding (%s), a file or folder of that name, and %s",
		r.Name, at, strings.Join(Names(), ", "), strings.Join(looked, ", "))
}

// ForModel is the tokenizer of a model when none was named: the model's own if
// a local cache holds it, else the default encoding and a warning for people.
func ForModel(model, revision string) (tok Tokenizer, warning string) {
	fallback := "tokens counted with " + Default + ", not the model's tokenizer"
	path, _ := findInCaches(model, revision)
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
