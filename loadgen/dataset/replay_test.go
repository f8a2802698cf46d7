package dataset_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/schema"
)

// prefixCache is what a server knows: whole blocks of 16 tokens behind their
// own prefix, and never the last token of a prompt.
type prefixCache struct {
	seen         map[string]bool
	known, total int
}

func (c *prefixCache) ask(ids []int) (known int) {
	name, leading := "", true
	for at := 0; at+16 <= len(ids); at += 16 {
		name = fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(name, ids[at:at+16]))))
		if leading = leading && c.seen[name] && at+16 < len(ids); leading {
			known += 16
		}
		c.seen[name] = true
	}
	c.known, c.total = c.known+known, c.total+len(ids)
	return known
}

// sampleTrace is a mooncake trace of n requests: sessions that grow, and
// prompts that share their beginnings with others.
func sampleTrace(t *testing.T, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 7))
	var b strings.Builder
	next := 100
	histories := [][]int{{1, 2}, {1, 3}, {4}, {5, 6, 7}}
	for i := range n {
		k := r.IntN(len(histories))
		blocks := append([]int{}, histories[k]...)
		for range 1 + r.IntN(3) {
			blocks = append(blocks, next)
			next++
		}
		if r.IntN(3) == 0 && len(blocks) < 10 {
			histories[k] = blocks[:len(blocks)-1]
		}
		in := len(blocks)*512 - r.IntN(500)
		ids := strings.ReplaceAll(strings.Trim(fmt.Sprint(blocks), "[]"), " ", ",")
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[%s]}`+"\n", i*10, in,
			1+r.IntN(20), ids)
	}
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The prompts that are made of a trace's hashes share what the trace shares: a
// server's cache finds the predicted share of their tokens, within a hundredth,
// and a replay of them is found faithful.
func TestTracePromptsReachThePredictedHitRate(t *testing.T) {
	t.Parallel()
	path := sampleTrace(t, 60)
	for _, name := range []string{"o200k_base", "r50k_base"} {
		tk := tok(t, name)
		set := open(t, schema.Dataset{Type: "file", Path: path, Format: "mooncake_trace"}, tk, 1, "profiling")
		rec, err := format.ReadTrace(t.Context(), path, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		predicted := trace.Analyze(rec.Rows, rec.Block).TokenHitRate
		replay := fidelity.New(set, true)
		cache := prefixCache{seen: map[string]bool{}}
		for i := range set.Len() {
			c := set.At(i)
			ids := tk.Encode(nil, c.Turns[0].Texts[0])
			if int64(len(ids)) != rec.Rows[i].In {
				t.Errorf("%s: prompt %d has %d tokens, the trace says %d", name, i, len(ids), rec.Rows[i].In)
			}
			at := time.Second + *c.Turns[0].Timestamp // the run's clock started a second before
			replay.Add(fidelity.Played{Conversation: c.ID, Turn: 0, Intended: at, Ended: at + 5}, trace.Sent{
				At: at,
				In: int64(len(ids)), Out: rec.Rows[i].Out, Known: int64(cache.ask(ids)), Asked: int64(len(ids)),
			})
		}
		reached := float64(cache.known) / float64(cache.total)
		if math.Abs(reached-predicted) > 0.01 || predicted < 0.2 {
			t.Errorf("%s: the cache knew %.4f of the tokens, the trace predicts %.4f", name, reached, predicted)
		}
		f := replay.Fidelity()
		if f.Missing != 0 || f.OnTime != 1 || f.LagP99 != 0 || f.InputLength != 1 || f.OutputLength != 1 ||
			math.Abs(f.Reached-reached) > 1e-12 || f.Score < 0.99 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// The generator of prompts with a declared hit rate reaches it on a server's
// cache within a hundredth.
func TestDeclaredHitRateIsReached(t *testing.T) {
	t.Parallel()
	tk := tok(t, "o200k_base")
	for _, rate := range []float64{0.1, 0.5, 0.8, 0.95} {
		cfg := synthetic(80, &schema.Shape{Mean: p(900), StdDev: p(200)})
		cfg.Prefix = &schema.Prefix{HitRate: rate, BlockSize: 16}
		set := open(t, cfg, tk, 3, "profiling")
		cache := prefixCache{seen: map[string]bool{}}
		for i := range set.Len() {
			cache.ask(tk.Encode(nil, set.At(i).Turns[0].Texts[0]))
		}
		if got := float64(cache.known) / float64(cache.total); math.Abs(got-rate) > 0.01 {
			t.Errorf("asked for %.2f, the cache knew %.4f (%q)", rate, got, set.Notes())
		}
	}
}
