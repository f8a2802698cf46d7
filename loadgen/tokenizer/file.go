package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
)

// OpenFile reads a tokenizer.json, or the one inside the folder path.
func OpenFile(path string) (Tokenizer, error) {
	return openNamed(path, path)
}

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
