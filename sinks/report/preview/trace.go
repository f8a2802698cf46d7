package preview

import (
	"fmt"
	"io"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	recorded "aiperf.dev/aiperf/loadgen/dataset/trace"
)

// Trace prints what a trace holds.
func Trace(w io.Writer, file string, t *format.Trace, a *recorded.Analysis) {
	fmt.Fprintf(w, "%s: %s, blocks of %d tokens\n", file, t.Format, t.Block)
	fmt.Fprintf(w, "%s in %s", words.Count(a.Requests, "request"), words.Count(a.Sessions, "session"))
	if a.DurationSeconds > 0 {
		fmt.Fprintf(w, " over %s s, %s requests/s", words.Number(a.DurationSeconds),
			words.Number(float64(a.Requests)/a.DurationSeconds))
	}
	fmt.Fprintf(w, "\n\n%-22s %10s %10s %10s %10s %10s\n", "", "mean", "p25", "p50", "p75", "max")
	for _, row := range []struct {
		name string
		s    *recorded.Stats
		by   float64
	}{
		{"input tokens", a.ISL, 1},
		{"output tokens", a.OSL, 1},
		{"shared input tokens", a.ContextLength, 1},
		{"own input tokens", a.UniquePromptLen, 1},
		{"hit rate %", a.HitRate, 100},
	} {
		if row.s == nil {
			continue
		}
		fmt.Fprintf(w, "%-22s", row.name)
		for _, v := range []float64{row.s.Mean, row.s.P25, row.s.Median, row.s.P75, row.s.Max} {
			fmt.Fprintf(w, " %10s", words.Whole(int64(math.Round(v*row.by))))
		}
		fmt.Fprintln(w)
	}
	defer func() {
		for _, n := range t.Notes {
			fmt.Fprintf(w, "note: %s\n", words.Line(n))
		}
	}()
	if a.HitRate == nil {
		fmt.Fprintln(w, "\nno hashes: nothing is known about shared prefixes")
		return
	}
	fmt.Fprintf(w, "\nAn infinite prefix cache knows %.1f %% of all input tokens (%.1f %% of a request's blocks on average).\n",
		100*a.TokenHitRate, 100*a.CacheHitRate)
	fmt.Fprintf(w, "%s, %.1f %% of their appearances repeated; %s shared by several requests.\n",
		words.Count(a.UniquePrefixes, "different prefix"), 100*a.PrefixReuseRatio,
		words.Count(a.PrefixGroups, "first block"))
	fmt.Fprintf(w, "A cache that holds so much knows: %s\n", strings.Join(caches(a.FiniteCacheCurves), " · "))
}

// caches says what caches of growing sizes know, up to the first one that knows
// as much as the largest.
func caches(curve []recorded.Curve) (parts []string) {
	for i, c := range curve {
		size, known := words.Whole(int64(c.Tokens))+" tokens", fmt.Sprintf("%.1f %%", 100*c.TokenHitRate)
		if last := curve[len(curve)-1]; i+1 < len(curve) && known == fmt.Sprintf("%.1f %%", 100*last.TokenHitRate) {
			return append(parts, size+" or more: "+known)
		}
		parts = append(parts, size+": "+known)
	}
	return parts
}
