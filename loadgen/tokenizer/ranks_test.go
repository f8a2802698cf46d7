package tokenizer

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the stored slots anew")

// The slots that are stored are those of the ranks beside them.
func TestStoredSlots(t *testing.T) {
	t.Parallel()
	want := slotsOf(o200kRanks)
	if *update {
		if err := os.WriteFile("ranks/o200k_base.slots", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if o200kSlots != want {
		t.Error("ranks/o200k_base.slots are not the slots of ranks/o200k_base.ranks: go generate ./loadgen/tokenizer")
	}
}

func BenchmarkLoad(b *testing.B) {
	b.Run("stored slots", func(b *testing.B) {
		for b.Loop() {
			loadRanks(o200kRanks, o200kSlots)
		}
	})
	b.Run("placed", func(b *testing.B) {
		for b.Loop() {
			loadRanks(o200kRanks, slotsOf(o200kRanks))
		}
	})
}
