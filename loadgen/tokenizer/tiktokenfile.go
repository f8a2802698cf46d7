package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
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
// itself: by how many it has, else by a part of the file's name or path.
var rankSplits = []struct {
	counts []int
	part   string
	split  func(string, int) int
}{
	{[]int{199998}, "o200k", splitO200k},
	{[]int{100256, 128000}, "cl100k", splitCL100k}, // and Llama 3
	{[]int{50256}, "r50k", splitR50k},              // GPT-2, Whisper
	{[]int{50280}, "p50k", splitR50k},
	{nil, "gpt2", splitR50k},
	{[]int{248044}, "", splitMarks}, // Qwen since 3.5
	{[]int{151643}, "qwen", splitOneDigit},
	{[]int{163584}, "kimi", splitKimi},
	{nil, "llama", splitCL100k},
}

// parseRanks reads such a file. What its special tokens are is not in it.
func parseRanks(name, path string, data []byte) (Tokenizer, error) {
	stored, n, err := rankTable(data)
	if err != nil {
		return nil, err
	}
	split := rankSplit(n, strings.ToLower(filepath.ToSlash(path)))
	if split == nil {
		return nil, diag.Errorf("a list of %d ranks does not say how to split text into words, and is not one that is known by its length or name", n).
			Try("take the model's tokenizer.json, or count by the server with tokenizer server")
	}
	return &bytePair{
		encoding: &encoding{name: name, split: split, special: map[int]string{}},
		ranks:    loadRanks(stored, slotsOf(stored)),
	}, nil
}

func rankSplit(n int, path string) func(string, int) int {
	for _, s := range rankSplits {
		if slices.Contains(s.counts, n) {
			return s.split
		}
	}
	for _, s := range rankSplits {
		if s.part != "" && strings.Contains(path, s.part) {
			return s.split
		}
	}
	return nil
}

// rankTable is the stored form of ranks.go, and how many tokens it has.
func rankTable(data []byte) (string, int, error) {
	var tokens [][]byte
	n, count := 0, 0 // lines, tokens
	for line := range bytes.Lines(data) {
		n++
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return "", 0, fmt.Errorf("line %d: want a token in base64 and its rank", n)
		}
		rank, err := strconv.Atoi(string(fields[1]))
		if err != nil || rank < 0 || rank > maxID {
			return "", 0, fmt.Errorf("line %d: %q is not a rank", n, fields[1])
		}
		if string(fields[0]) == "=" {
			continue // Whisper's list has an empty token, which no text becomes
		}
		token, err := base64.StdEncoding.DecodeString(string(fields[0]))
		if err != nil || len(token) == 0 || len(token) > 255 {
			return "", 0, fmt.Errorf("line %d: %q is not a token in base64 of at most 255 bytes", n, fields[0])
		}
		if grow := rank + 1 - len(tokens); grow > 0 {
			tokens = append(tokens, make([][]byte, grow)...)
		}
		if tokens[rank] != nil {
			return "", 0, fmt.Errorf("line %d: the rank %d stands on an earlier line, too", n, rank)
		}
		tokens[rank] = token
		count++
	}
	if err := checkBytes(tokens); err != nil {
		return "", 0, err
	}
	return storedRanks(tokens), count, nil
}

// storedRanks is the form that loadRanks reads.
func storedRanks(tokens [][]byte) string {
	stored := binary.LittleEndian.AppendUint32(nil, uint32(len(tokens)))
	for _, t := range tokens {
		stored = append(stored, byte(len(t)))
	}
	return string(append(stored, bytes.Join(tokens, nil)...))
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
	return fmt.Errorf("not a whole list of ranks: %d of the 256 bytes have no token, the first is 0x%02X", missing,
		first)
}

// tekkenForm is Mistral's tekken.json: ranks as tiktoken has them, with the
// pattern that cuts text. The first ids are special tokens; ranks follow them.
type tekkenForm struct {
	Config struct {
		Pattern string
		Size    int `json:"default_vocab_size"` // ids, special ones included
		Special int `json:"default_num_special_tokens"`
	}
	Vocab []struct {
		Rank  int
		Bytes []byte `json:"token_bytes"`
	}
	Special []struct {
		Rank int
		Text string `json:"token_str"`
	} `json:"special_tokens"`
}

// looksLikeTekken tells the file from a tokenizer.json by settings that stand
// at its beginning.
func looksLikeTekken(data []byte) bool {
	head := data[:min(len(data), 4<<10)]
	return bytes.HasPrefix(data, []byte("{")) && bytes.Contains(head, []byte(`"config"`)) &&
		bytes.Contains(head, []byte(`"default_num_special_tokens"`))
}

// parseTekken reads such a file. Special tokens inside text are counted as the
// plain text they are: so does Mistral's own tokenizer.
func parseTekken(name string, data []byte) (Tokenizer, error) {
	var f tekkenForm
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not a tekken.json: %w", damage(data, err))
	}
	split, known := byHand[f.Config.Pattern]
	if !known {
		return nil, fmt.Errorf("tekken.json: the pattern %q is not known", f.Config.Pattern)
	}
	first, size := f.Config.Special, f.Config.Size
	if first < 0 || size <= first || size > maxID {
		return nil, fmt.Errorf("tekken.json: %d ids with %d special ones", size, first)
	}
	tokens := make([][]byte, size)
	for _, t := range f.Vocab {
		id := t.Rank + first
		if t.Rank < 0 || len(t.Bytes) == 0 || len(t.Bytes) > 255 {
			return nil, fmt.Errorf("tekken.json: the token of rank %d has %d bytes", t.Rank, len(t.Bytes))
		}
		if id >= size {
			continue // kept for larger vocabularies
		}
		if tokens[id] != nil {
			return nil, fmt.Errorf("tekken.json: the rank %d appears twice", t.Rank)
		}
		tokens[id] = t.Bytes
	}
	if err := checkBytes(tokens); err != nil {
		return nil, fmt.Errorf("tekken.json: %w", err)
	}
	special := map[int]string{}
	for _, s := range f.Special {
		special[s.Rank] = s.Text
	}
	stored := storedRanks(tokens)
	return &bytePair{
		encoding: &encoding{name: name, split: split, special: special},
		ranks:    loadRanks(stored, slotsOf(stored)),
	}, nil
}
