package endpoint

import (
	"math"
	"strconv"
	"strings"
)

// Timings are what a server says about its own work on a request, in ms; NaN
// where it says nothing.
type Timings struct {
	Queue   float64 // waited for its turn
	Prefill float64 // read the prompt
	Decode  float64 // made the tokens
	Total   float64 // all of it, as the server saw it
}

// NoTimings are those of a server that says nothing.
var NoTimings = Timings{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// Said tells whether the server said anything.
func (t Timings) Said() bool {
	return t.Queue == t.Queue || t.Prefill == t.Prefill || t.Decode == t.Decode || t.Total == t.Total
}

// Merge takes over what a later word says.
func (t *Timings) Merge(next Timings) {
	for _, f := range [...]struct{ to, from *float64 }{
		{&t.Queue, &next.Queue}, {&t.Prefill, &next.Prefill}, {&t.Decode, &next.Decode}, {&t.Total, &next.Total},
	} {
		if *f.from == *f.from {
			*f.to = *f.from
		}
	}
}

// readTimings reads llama.cpp's timings, which are in ms.
func readTimings(s *scanner) (*Timings, error) {
	t := NoTimings
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "prompt_ms":
			t.Prefill, err = s.decimal()
		case "predicted_ms":
			t.Decode, err = s.decimal()
		default:
			err = s.skip()
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

// decimal reads a number that is not negative; any other value is skipped and
// gives NaN.
func (s *scanner) decimal() (float64, error) {
	if c := s.peek(); c < '0' || c > '9' {
		return math.NaN(), s.skip()
	}
	start := s.at
	if err := s.number(); err != nil {
		return math.NaN(), err
	}
	f, err := strconv.ParseFloat(string(s.data[start:s.at]), 64)
	if err != nil || math.IsInf(f, 0) {
		return math.NaN(), nil
	}
	return f, nil
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
	"decode": headerTimes["x-inference-time"], "generate": headerTimes["x-inference-time"], "inference": headerTimes["x-inference-time"],
	"total": headerTimes["x-total-time"],
}

// HeaderTimings reads the times in the header lines of an answer: x-…-time and
// Server-Timing (W3C), both in ms. It returns nil where there are none.
func HeaderTimings(lines []byte) *Timings {
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
	for metric := range strings.SplitSeq(value, ",") {
		params := strings.Split(metric, ";")
		at, ok := serverTiming[strings.ToLower(strings.TrimSpace(params[0]))]
		if !ok {
			continue
		}
		for _, p := range params[1:] {
			if dur, ok := strings.CutPrefix(strings.TrimSpace(p), "dur="); ok {
				set(at(t), strings.Trim(dur, `"`))
			}
		}
	}
}

// set keeps a number that can be a time.
func set(to *float64, text string) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && !math.IsInf(f, 0) {
		*to = f
	}
}
