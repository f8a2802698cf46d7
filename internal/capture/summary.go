package capture

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
)

// counts is what was recorded so far.
type counts struct {
	requests, later, streamed, failed, broken int64
	in, out                                   int64
	conversations                             int64
	first, last                               float64 // arrivals, in ms
	models, apis                              map[string]int64
	lost                                      map[string]int64
}

// Summary is what a capture recorded, and what it could not.
type Summary struct {
	counts
	File   string
	Size   int64
	Passed int64 // requests that are not of an inference API
}

// mostModels bounds the models that are told apart.
const mostModels = 100

// count takes in a line that was written, and looks whether a limit is reached.
func (c *Capture) count(r *row, in int64, later bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.counts
	if n.requests == 0 {
		n.first, n.last, n.models, n.apis = r.Timestamp, r.Timestamp, map[string]int64{}, map[string]int64{}
	}
	n.first, n.last = min(n.first, r.Timestamp), max(n.last, r.Timestamp)
	n.requests++
	n.in, n.out = n.in+in, n.out+r.Out
	if later {
		n.later++
	}
	if r.Capture.Stream {
		n.streamed++
	}
	if r.Capture.Status >= 400 {
		n.failed++
	}
	if r.Capture.Broken != "" {
		n.broken++
	}
	if _, known := n.models[r.Capture.Model]; known || len(n.models) < mostModels {
		n.models[r.Capture.Model]++
	}
	n.apis[r.Capture.API]++
	n.conversations = n.requests - n.later
	if c.o.Requests > 0 && n.requests >= c.o.Requests || c.o.Bytes > 0 && c.out.size >= c.o.Bytes {
		c.reached()
	}
}

// limited reports whether a limit is reached.
func (c *Capture) limited() bool {
	select {
	case <-c.full:
		return true
	default:
		return false
	}
}

func (c *Capture) summary() Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Summary{counts: c.counts, File: c.o.File, Size: c.out.size, Passed: c.passed.Load()}
}

// Requests is how many were recorded.
func (s *Summary) Requests() int64 { return s.requests }

// Model is the model that most requests asked for; "" where none did.
func (s *Summary) Model() string { return most(s.models) }

// API is the API of most requests.
func (s *Summary) API() string { return most(s.apis) }

// Streamed reports whether most answers were streams.
func (s *Summary) Streamed() bool { return 2*s.streamed > s.requests }

func most(of map[string]int64) (name string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if of[k] > of[name] {
			name = k
		}
	}
	return name
}

// Print says what was recorded.
func (s *Summary) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s in %s over %s\n", s.File, words.Count(s.requests, "request"),
		words.Count(s.conversations, "conversation"), words.Span(time.Duration((s.last-s.first)*1e6)))
	if s.requests > 0 {
		parts := []string{
			"mean input " + words.Count(s.in/s.requests, "token"), "mean output " + words.Count(s.out/s.requests, "token"),
			fmt.Sprintf("%s streamed", words.Whole(s.streamed)),
		}
		if s.failed > 0 {
			parts = append(parts, words.Whole(s.failed)+" failed")
		}
		if s.broken > 0 {
			parts = append(parts, words.Whole(s.broken)+" broken off")
		}
		fmt.Fprintln(w, "  "+strings.Join(parts, " · "))
	}
	if len(s.apis) > 1 {
		fmt.Fprintf(w, "  %s: a replay sends all of them as one\n", words.And(slices.Sorted(maps.Keys(s.apis))))
	}
	for _, why := range slices.Sorted(maps.Keys(s.lost)) {
		fmt.Fprintf(w, "  %s: %s\n", why, words.Count(s.lost[why], "request"))
	}
	if s.Passed > 0 {
		fmt.Fprintf(w, "  %s of other pages passed\n", words.Count(s.Passed, "request"))
	}
}
