package tokenizer_test

import (
	"testing"

	"github.com/pkoukk/tiktoken-go"
)

// BenchmarkReferenceLoad is what tiktoken-go spends on the same ranks: two maps
// and a sorted list of all tokens. It is why we have an engine of our own.
func BenchmarkReferenceLoad(b *testing.B) {
	for b.Loop() {
		ranks, err := offlineRanks{}.LoadTiktokenBpe("o200k_base.tiktoken")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tiktoken.NewCoreBPE(ranks, map[string]int{"<|endoftext|>": 199999}, `\s+|\S+`); err != nil {
			b.Fatal(err)
		}
	}
}
