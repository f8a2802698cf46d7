package tokenizer

import (
	_ "embed"
	"sync"
)

//go:generate go run ./gen
//go:generate go test -run TestStoredSlots -update .

// The ranks of the built-in encodings (see ranks.go for the format). They were
// published by OpenAI with tiktoken under the MIT licence.
var (
	//go:embed ranks/o200k_base.ranks
	o200kRanks string
	//go:embed ranks/cl100k_base.ranks
	cl100kRanks string
	//go:embed ranks/p50k_base.ranks
	p50kRanks string
	//go:embed ranks/r50k_base.ranks
	r50kRanks string

	// o200kSlots are the slots of o200kRanks, which every run opens that is given no
	// tokenizer, and the built-in server: placing them took a tenth of a short run.
	//go:embed ranks/o200k_base.slots
	o200kSlots string
)

// encoding is one built-in encoding: how text is cut, how pieces merge.
type encoding struct {
	name    string
	split   func(text string, at int) int // end of the piece that begins at at
	special map[int]string
	open    func() Tokenizer // built once, at first use
}

const endOfText = "<|endoftext|>"

// encodings are the built-in ones.
var encodings = []*encoding{
	newEncoding("o200k_base", o200kRanks, func() string { return o200kSlots }, splitO200k,
		map[int]string{199999: endOfText, 200018: "<|endofprompt|>"}),
	newEncoding("cl100k_base", cl100kRanks, placed(cl100kRanks), splitCL100k, map[int]string{
		100257: endOfText, 100258: "<|fim_prefix|>", 100259: "<|fim_middle|>", 100260: "<|fim_suffix|>",
		100276: "<|endofprompt|>",
	}),
	newEncoding("o200k_harmony", o200kRanks, func() string { return o200kSlots }, splitO200k, map[int]string{
		199998: "<|startoftext|>", 199999: endOfText, 200002: "<|return|>",
		200003: "<|constrain|>", 200005: "<|channel|>",
		200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>", 200018: "<|endofprompt|>",
	}),
	newEncoding("p50k_edit", p50kRanks, placed(p50kRanks), splitR50k, map[int]string{
		50256: endOfText, 50281: "<|fim_prefix|>", 50282: "<|fim_middle|>", 50283: "<|fim_suffix|>",
	}),
	newEncoding("p50k_base", p50kRanks, placed(p50kRanks), splitR50k, map[int]string{50256: endOfText}),
	newEncoding("r50k_base", r50kRanks, placed(r50kRanks), splitR50k, map[int]string{50256: endOfText}),
}

func newEncoding(
	name, data string, slots func() string, split func(string, int) int, special map[int]string,
) *encoding {
	e := &encoding{name: name, split: split, special: special}
	e.open = sync.OnceValue(func() Tokenizer { return &bytePair{encoding: e, ranks: loadRanks(data, slots())} })
	return e
}

// placed are slots that are not stored.
func placed(data string) func() string { return func() string { return slotsOf(data) } }

// Names lists the built-in encodings.
func Names() []string {
	names := []string{"builtin"}
	for _, e := range encodings {
		names = append(names, e.name)
	}
	return names
}

func encodingNamed(name string) *encoding {
	for _, e := range encodings {
		if e.name == name {
			return e
		}
	}
	return nil
}
