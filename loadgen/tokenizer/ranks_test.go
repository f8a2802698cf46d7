package tokenizer

import "testing"

func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct{ name, data string }{{"o200k_base", o200kRanks}, {"cl100k_base", cl100kRanks}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				loadRanks(c.data)
			}
		})
	}
}
