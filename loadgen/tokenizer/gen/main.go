// Command gen writes the stored form of the built-in encodings' ranks from the
// .tiktoken files of the module github.com/pkoukk/tiktoken-go-loader (MIT
// licence), which repeats the files OpenAI published with tiktoken (MIT
// licence). Each line of those is a token in base64 and its rank.
//
// Run it by `go generate ./loadgen/tokenizer`; it needs that module in the
// module cache (`go mod download github.com/pkoukk/tiktoken-go-loader@v0.0.2`).
// Without it the stored ranks stay as they are, which is said in a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/pkoukk/tiktoken-go-loader@v0.0.2"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env GOMODCACHE: %w", err)
	}
	assets := filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(module), "assets")
	if _, err := os.Stat(assets); errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("loadgen/tokenizer: the ranks stay as they are; go mod download %s brings what they are made of\n",
			module)
		return nil
	}
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		data, err := os.ReadFile(filepath.Join(assets, name+".tiktoken"))
		if err != nil {
			return err
		}
		stored, err := convert(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join("ranks", name+".ranks"), stored, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// convert turns lines of "base64 rank" into count, lengths and bytes.
func convert(data []byte) ([]byte, error) {
	var tokens [][]byte
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var text string
		var rank int
		if _, err := fmt.Sscan(lines.Text(), &text, &rank); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		token, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(token) == 0 || len(token) > 255 {
			return nil, fmt.Errorf("line %d: token %q cannot be stored", n, text)
		}
		for len(tokens) <= rank {
			tokens = append(tokens, nil)
		}
		tokens[rank] = token
	}
	stored := binary.LittleEndian.AppendUint32(nil, uint32(len(tokens)))
	for _, t := range tokens {
		stored = append(stored, byte(len(t)))
	}
	return append(stored, bytes.Join(tokens, nil)...), lines.Err()
}
