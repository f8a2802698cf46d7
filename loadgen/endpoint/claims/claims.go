// Package claims reads what servers say about their own work: the tokens that they
// counted and the times that they took, under the names that they have for them. It
// knows no API: in go a place in JSON or header lines, out come numbers.
package claims

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// Usage is what the server claims; record.None where it does not say.
type Usage struct {
	Prompt, Completion, Reasoning, Total, Cached int64
	Accepted, Rejected                           int64 // tokens of a prediction that the request brought
}

// NoUsage is the usage of a server that claims nothing.
var NoUsage = Usage{record.None, record.None, record.None, record.None, record.None, record.None, record.None}

// Said reports whether the server claimed anything.
func (u Usage) Said() bool { return u != NoUsage }

// Merge takes over what a later event of the same answer claims: claims are cumulative.
func (u *Usage) Merge(next *Usage) {
	for _, f := range [...]struct{ to, from *int64 }{
		{&u.Prompt, &next.Prompt},
		{&u.Completion, &next.Completion},
		{&u.Reasoning, &next.Reasoning},
		{&u.Total, &next.Total},
		{&u.Cached, &next.Cached},
		{&u.Accepted, &next.Accepted},
		{&u.Rejected, &next.Rejected},
	} {
		if *f.from != record.None {
			*f.to = *f.from
		}
	}
}

// The names servers give to the same claim. The first of a list that is there
// wins; 0 is a claim, too.
var (
	promptNames     = []string{"prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count"}
	completionNames = []string{
		"completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens",
		"generated_token_count",
	}
	totalNames     = []string{"total_tokens", "totalTokens", "totalTokenCount"}
	reasoningNames = []string{"reasoning_tokens", "thoughtsTokenCount"}
	acceptedNames  = []string{"accepted_prediction_tokens"}
	rejectedNames  = []string{"rejected_prediction_tokens"}
	cachedNames    = []string{
		"cached_tokens", "cache_read_input_tokens", "cacheReadInputTokens",
		"cachedContentTokenCount", "prompt_cache_hit_tokens",
	}
	// Servers that count the cached part of a prompt apart from its input
	// tokens name it so; prompt is then the sum.
	apartNames = []string{
		"cache_read_input_tokens", "cache_creation_input_tokens",
		"cacheReadInputTokens", "cacheWriteInputTokens",
	}
)

// claim is a value and its place in the list of names that it was found under.
type claim struct {
	value int64
	place int
}

func (c *claim) offer(names []string, key []byte, v int64) {
	if v == record.None {
		return
	}
	if i := slices.Index(names, string(key)); i >= 0 && i <= c.place {
		c.value, c.place = v, i
	}
}

// ReadUsage reads a usage object; null and anything else claim nothing.
func ReadUsage(s *scan.Scanner) (Usage, *Timings, error) {
	if s.Peek() != '{' { // null, on every chunk of some servers
		return NoUsage, nil, s.Skip()
	}
	var times *Timings
	unsaid := claim{record.None, 1 << 10}
	prompt, completion, total, reasoning, cached, accepted, rejected := unsaid, unsaid, unsaid, unsaid, unsaid, unsaid,
		unsaid
	apart := int64(0)
	entry := func(key []byte) error {
		if s.Peek() == '{' {
			return s.Object(func(key []byte) error {
				v, err := s.Count()
				reasoning.offer(reasoningNames, key, v)
				cached.offer(cachedNames, key, v)
				accepted.offer(acceptedNames, key, v)
				rejected.offer(rejectedNames, key, v)
				return err
			})
		}
		if at, ok := usageTimes[string(key)]; ok {
			if times == nil {
				none := NoTimings
				times = &none
			}
			v, err := s.Decimal()
			*at(times) = v * 1e3
			return err
		}
		v, err := s.Count()
		prompt.offer(promptNames, key, v)
		completion.offer(completionNames, key, v)
		total.offer(totalNames, key, v)
		reasoning.offer(reasoningNames, key, v)
		cached.offer(cachedNames, key, v)
		if v > 0 && slices.Contains(apartNames, string(key)) {
			apart += v
		}
		return err
	}
	err := s.Object(entry)
	if prompt.value != record.None && prompt.place > 0 {
		if prompt.value += apart; prompt.value > math.MaxInt32 {
			prompt.value = record.None
		}
	}
	return Usage{
		prompt.value, completion.value, reasoning.value, total.value, cached.value, accepted.value,
		rejected.value,
	}, times, err
}

// Timings are what a server says about its own work on a request, in ms; NaN
// where it says nothing.
type Timings struct {
	Queue   float64 // waited for its turn
	Prefill float64 // read the prompt
	Decode  float64 // made the tokens
	Total   float64 // all of it, as the server saw it

	Inference  float64 // a video's making on the GPU
	PeakMemory float64 // that it took, in MB
}

// NoTimings are those of a server that says nothing.
var NoTimings = Timings{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// Said reports whether the server said anything.
func (t Timings) Said() bool {
	return t.Queue == t.Queue || t.Prefill == t.Prefill || t.Decode == t.Decode || t.Total == t.Total ||
		t.Inference == t.Inference || t.PeakMemory == t.PeakMemory
}

// Merge takes over what a later word says.
func (t *Timings) Merge(next Timings) {
	for _, f := range [...]struct{ to, from *float64 }{
		{&t.Queue, &next.Queue},
		{&t.Prefill, &next.Prefill},
		{&t.Decode, &next.Decode},
		{&t.Total, &next.Total},
		{&t.Inference, &next.Inference},
		{&t.PeakMemory, &next.PeakMemory},
	} {
		if *f.from == *f.from {
			*f.to = *f.from
		}
	}
}

// ReadTimings reads llama.cpp's timings, which are in ms, and how many tokens of
// the prompt its cache had.
func ReadTimings(s *scan.Scanner, cached *int64) (*Timings, error) {
	t := NoTimings
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "prompt_ms":
			t.Prefill, err = s.Decimal()
		case "predicted_ms":
			t.Decode, err = s.Decimal()
		case "cache_n":
			*cached, err = s.Count()
		default:
			err = s.Skip()
		}
		return err
	})
	if !t.Said() {
		return nil, err
	}
	return &t, err
}

// usageTimes are the times that some servers put into usage, in seconds.
var usageTimes = map[string]func(*Timings) *float64{
	"queue_time":      func(t *Timings) *float64 { return &t.Queue },
	"prompt_time":     func(t *Timings) *float64 { return &t.Prefill },
	"completion_time": func(t *Timings) *float64 { return &t.Decode },
	"total_time":      func(t *Timings) *float64 { return &t.Total },
}

// headerTimes are the headers that carry a time, in ms: those of Hugging Face's
// servers. What they infer is prompt and answer together.
var headerTimes = map[string]func(*Timings) *float64{
	"x-queue-time":     func(t *Timings) *float64 { return &t.Queue },
	"x-prefill-time":   func(t *Timings) *float64 { return &t.Prefill },
	"x-inference-time": func(t *Timings) *float64 { return &t.Decode },
	"x-total-time":     func(t *Timings) *float64 { return &t.Total },
}

// serverTiming are the metric names in a Server-Timing header that say which
// part of the work they are.
var serverTiming = map[string]func(*Timings) *float64{
	"queue": headerTimes["x-queue-time"], "waiting": headerTimes["x-queue-time"],
	"prefill": headerTimes["x-prefill-time"], "prompt": headerTimes["x-prefill-time"],
	"decode": headerTimes["x-inference-time"], "generate": headerTimes["x-inference-time"],
	"inference": headerTimes["x-inference-time"],
	"total":     headerTimes["x-total-time"],
}

// HeaderTimings reads the times in the header lines of an answer: x-…-time and
// Server-Timing (W3C), both in ms. It returns nil where there are none.
func HeaderTimings(lines []byte) *Timings {
	if len(lines) == 0 { // of most servers: nothing is allocated for them
		return nil
	}
	t := NoTimings
	for line := range strings.Lines(string(lines)) {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if name == "server-timing" {
			t.serverTiming(value)
		} else if at, ok := headerTimes[name]; ok {
			set(at(&t), value)
		}
	}
	if !t.Said() {
		return nil
	}
	return &t
}

// serverTiming reads "queue;dur=1.5, total;desc=all;dur=20".
func (t *Timings) serverTiming(value string) {
	for metric := range unquoted(value, ',') {
		params := slices.Collect(unquoted(metric, ';'))
		at, ok := serverTiming[strings.ToLower(strings.TrimSpace(params[0]))]
		if !ok {
			continue
		}
		for _, p := range params[1:] {
			if name, dur, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(name), "dur") {
				set(at(t), strings.Trim(strings.TrimSpace(dur), `"`))
			}
		}
	}
}

// unquoted are the parts of a header's value between separators outside of quotes.
func unquoted(value string, separator byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, quoted := 0, false
		for i := 0; i < len(value); i++ {
			switch c := value[i]; {
			case c == '"':
				quoted = !quoted
			case c == '\\' && quoted:
				i++
			case c == separator && !quoted:
				if !yield(value[from:i]) {
					return
				}
				from = i + 1
			}
		}
		yield(value[from:])
	}
}

// set keeps a number that can be a time.
func set(to *float64, text string) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && !math.IsInf(f, 0) {
		*to = f
	}
}
