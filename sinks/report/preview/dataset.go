package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	formats "aiperf.dev/aiperf/loadgen/dataset/format"
	recorded "aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Dataset prints what a file of requests holds: counts, lengths, times, shared
// prefixes and the first request.
func Dataset(ctx context.Context, w io.Writer, path, format string, set *dataset.Set, tok tokenizer.Tokenizer) error {
	describeSet(w, set, tok)
	if err := set.Err(); err != nil {
		return err
	}
	describeSharing(ctx, w, path, format)
	for _, line := range append(slices.Clone(set.Warnings()), set.Notes()...) {
		fmt.Fprintf(w, "note: %s\n", words.Line(line))
	}
	return firstRequest(w, set)
}

// described is how many conversations are looked at of a file that is read
// while it is played.
const described = 1000

// describeSet prints counts, lengths and times.
func describeSet(w io.Writer, set *dataset.Set, tok tokenizer.Tokenizer) {
	var turns, in, out []float64
	first, last := time.Duration(math.MaxInt64), time.Duration(-1)
	media := 0
	starts, silent := 0, 0
	for c := range set.Each() {
		if set.Streamed() && len(turns) == described {
			break
		}
		turns = append(turns, float64(len(c.Turns)))
		for k := range c.Turns {
			t := &c.Turns[k]
			starts += len(t.Starts)
			if t.Silent {
				silent++
			}
			media += len(t.Images) + len(t.Audios) + len(t.Videos)
			if t.ISL > 0 {
				in = append(in, float64(t.ISL))
			}
			if t.MaxTokens > 0 {
				out = append(out, float64(t.MaxTokens))
			}
			if t.Timestamp != nil {
				first, last = min(first, *t.Timestamp), max(last, *t.Timestamp)
			}
		}
	}
	sum := 0.0
	for _, n := range turns {
		sum += n
	}
	if set.Streamed() && len(turns) == described {
		fmt.Fprint(w, "the first ")
	}
	fmt.Fprintf(w, "%s, %s", words.Count(len(turns), "conversation"), words.Count(int(sum), "turn"))
	if media > 0 {
		fmt.Fprintf(w, ", %s", words.Count(media, "image, sound or video file"))
	}
	fmt.Fprintln(w)
	if starts > 0 {
		fmt.Fprintf(w, "  %-28s %s, with these %s; turns that send nothing: %d\n", "played by themselves",
			words.Count(set.Len(), "conversation"), words.Count(set.Turns(), "request"), silent)
	}
	fmt.Fprintf(w, "  %-28s %s\n", "turns of a conversation", spread(turns))
	fmt.Fprintf(w, "  %-28s %s\n", "input tokens ("+tok.Name()+")", spread(in))
	fmt.Fprintf(w, "  %-28s %s\n", "output tokens asked for", spread(out))
	if last >= 0 {
		fmt.Fprintf(w, "  %-28s from %s to %s\n", "time stamps", words.Span(first), words.Span(last))
	}
}

// spread is least, median and most of some whole numbers.
func spread(v []float64) string {
	if len(v) == 0 {
		return "not said"
	}
	slices.Sort(v)
	if v[0] == v[len(v)-1] {
		return words.Whole(int64(v[0]))
	}
	n := len(v)
	middle := v[(n-1)/2] + v[n/2] // twice the median
	median := words.Whole(int64(middle / 2))
	if math.Mod(middle, 2) != 0 {
		median += ".5"
	}
	return fmt.Sprintf("%s to %s, median %s", words.Whole(int64(v[0])), words.Whole(int64(v[n-1])), median)
}

// describeSharing prints what a trace says about prefixes.
func describeSharing(ctx context.Context, w io.Writer, path, format string) {
	t, err := formats.ReadTrace(ctx, path, format, 0)
	if err != nil {
		return // no trace
	}
	if a := recorded.Analyze(t.Rows, t.Block); a.HitRate != nil {
		fmt.Fprintf(w, "  %-28s an infinite prefix cache knows %.1f %% of all input tokens (blocks of %d)\n",
			"shared prefixes", 100*a.TokenHitRate, t.Block)
	}
}

// firstRequest prints the body that a chat request with the first turn has.
func firstRequest(w io.Writer, set *dataset.Set) error {
	c := set.First()
	t := &c.Turns[0]
	spec := endpoint.Usual(t)
	body := []byte(t.Raw)
	if t.Raw == nil {
		var err error
		if body, err = spec.Body(nil, &endpoint.Input{
			Model: cmp.Or(t.Model, "MODEL"), System: c.System, Turn: t,
			Stream: true,
		}); err != nil {
			fmt.Fprintf(w, "first request: not as %s: %v\n", spec.Type, err)
			return nil
		}
	}
	if !json.Valid(body) {
		return nil
	}
	fmt.Fprintf(w, "first request, as %s: %s\n", spec.Type, words.Clip(strings.TrimSpace(string(body)), 400))
	return nil
}
