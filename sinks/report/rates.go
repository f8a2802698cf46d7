package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// rateTags are the scalars that stand in one line.
var rateTags = []string{metrics.OutputTokenThroughput, metrics.RequestThroughput, metrics.OutputSequenceLength, metrics.InputSequenceLength}

// throughput is what came out, per second.
func (r *Report) throughput(of func(tag string) (metrics.Stat, bool)) (parts []string) {
	for i, unit := range []string{" out tok/s", " req/s"} {
		if s, ok := of(rateTags[i]); ok && !math.IsNaN(s.Avg) {
			parts = append(parts, words.Grouped(s.Avg)+unit+r.doubtfulMean(rateTags[i]))
		}
	}
	return parts
}

// rates are the scalars, with goodput when SLOs are set.
func (r *Report) rates(b *strings.Builder) {
	scalar := func(tag string) (float64, bool) {
		s, ok := r.headline(tag)
		return s.Avg, ok && !math.IsNaN(s.Avg)
	}
	parts := r.throughput(r.headline)
	if v, ok := scalar(metrics.OutputSequenceLength); ok {
		osl := "OSL " + words.Grouped(v)
		if r.Asked != "" {
			osl += " (" + r.Asked + ")"
		}
		osl += r.doubtfulMean(metrics.OutputSequenceLength)
		parts = append(parts, osl)
	}
	if v, ok := scalar(metrics.InputSequenceLength); ok {
		parts = append(parts, "ISL "+words.Grouped(v)+r.doubtfulMean(metrics.InputSequenceLength))
	}
	fmt.Fprintf(b, "%-17s%s\n", "Throughput", strings.Join(parts, "   "))
	if rate, ok := scalar(metrics.RequestThroughput); ok {
		if full, ok := r.Full.Get(metrics.RequestThroughput); ok && math.Abs(full.Avg/rate-1) > 0.02 {
			fmt.Fprintf(b, "%-17s%s\n", "  full window", strings.Join(r.throughput(r.Full.Get), "   "))
		}
	}
	of := r.headline // the window of the rates above it
	if g, ok := of(metrics.Goodput); ok && !math.IsNaN(g.Avg) {
		share, _ := of(metrics.GoodRequestFraction)
		text := fmt.Sprintf("%s req/s (%s)", words.Grouped(g.Avg), words.Percent(share.Avg))
		if share.Open > 0 { // requests were cut off before it was known whether they are good
			text = fmt.Sprintf("%s to %s req/s (%s to %s)", words.Grouped(g.Avg), words.Grouped(g.Avg+g.Open), words.Percent(share.Avg), words.Percent(share.Avg+share.Open))
		}
		text += r.doubtfulMean(metrics.GoodRequestFraction)
		if sent, ok := of(metrics.GoodRequestFractionFromSent); ok && sent.Avg != share.Avg {
			text += fmt.Sprintf("   from sending %s", words.Percent(sent.Avg))
		}
		for _, tag := range slices.Sorted(maps.Keys(r.Missed)) {
			text += fmt.Sprintf("   missed: %s %s", tag, words.Grouped(float64(r.Missed[tag])))
		}
		fmt.Fprintf(b, "%-17s%s\n", "Goodput", text)
	}
}
