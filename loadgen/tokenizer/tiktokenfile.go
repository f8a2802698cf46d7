package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// looksLikeRanks tells a list of "base64 rank" lines, as tiktoken keeps them.
func looksLikeRanks(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text, rank, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
	if !ok {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(text)
	_, bad := strconv.Atoi(rank)
	return err == nil && bad == nil
}

// rankSplits say how text is cut for a list of ranks, which does not say so
// itself: by a part of the file's name or path, in this order.
var rankSplits = []struct {
	part  string
	split func(string, int) int
}{
	{"o200k", splitO200k},
	{"r50k", splitR50k},
	{"p50k", splitR50k},
	{"gpt2", splitR50k},
	{"qwen", splitOneDigit},
	{"", splitCL100k}, // cl100k_base, Llama 3, Kimi
}

// parseRanks reads such a file. What its special tokens are is not in it.
func parseRanks(name, path string, data []byte) (Tokenizer, error) {
	stored, err := rankTable(data)
	if err != nil {
		return nil, err
	}
	e := &encoding{name: name, special: map[int]string{}}
	for _, s := range rankSplits {
		if strings.Contains(strings.ToLower(filepath.ToSlash(path)), s.part) {
			e.split = s.split
			break
		}
	}
	return &bytePair{encoding: e, ranks: loadRanks(stored)}, nil
}

// rankTable is the stored form of ranks.go.
func rankTable(data []byte) (string, error) {
	var tokens [][]byte
	n := 0
	for line := range bytes.Lines(data) {
		n++
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return "", fmt.Errorf("line %d: want a token in base64 and its rank", n)
		}
		rank, err := strconv.Atoi(string(fields[1]))
		if err != nil || rank < 0 || rank > maxID {
			return "", fmt.Errorf("line %d: %q is no rank", n, fields[1])
		}
		token, err := base64.StdEncoding.DecodeString(string(fields[0]))
		if err != nil || len(token) == 0 || len(token) > 255 {
			return "", fmt.Errorf("line %d: %q is no token in base64 of at most 255 bytes", n, fields[0])
		}
		if grow := rank + 1 - len(tokens); grow > 0 {
			tokens = append(tokens, make([][]byte, grow)...)
		}
		if tokens[rank] != nil {
			return "", fmt.Errorf("line %d: the rank %d stands on an earlier line, too", n, rank)
		}
		tokens[rank] = token
	}
	if err := checkBytes(tokens); err != nil {
		return "", err
	}
	stored := binary.LittleEndian.AppendUint32(nil, uint32(len(tokens)))
	for _, t := range tokens {
		stored = append(stored, byte(len(t)))
	}
	return string(append(stored, bytes.Join(tokens, nil)...)), nil
}

// checkBytes refuses a list without a token for each byte: merging begins with
// them, and text with another byte would be counted wrong.
func checkBytes(tokens [][]byte) error {
	var has [256]bool
	for _, t := range tokens {
		if len(t) == 1 {
			has[t[0]] = true
		}
	}
	first, missing := 0, 0
	for b, ok := range has {
		if ok {
			continue
		}
		if missing++; missing == 1 {
			first = b
		}
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("not a whole list of ranks: %d of the 256 bytes have no token, the first is 0x%02X", missing, first)
}
