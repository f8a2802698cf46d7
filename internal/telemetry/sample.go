package telemetry

import (
	"context"
	"encoding/json"
	"strings"
)

// Sample is one figure at one moment.
type Sample struct {
	At        int64  // ns since the run's T0, when the answer had arrived
	Source    string // the address, without its secrets, or the machine
	Collector string // row of the catalogue
	Metric    string
	Labels    string // a JSON object with its keys in order, "" for none
	Unit      string // "" where it is not known
	Kind      string
	Value     float64 // NaN: from here on the source does not say it any more
}

// Sink takes samples of any collector, in the order of their times for each. What it is
// given it does not keep.
type Sink func([]Sample)

// Collector watches something beside the load, on goroutines of its own.
type Collector interface {
	// Start looks once before it returns, so that what counts from the start of the run
	// is known, and goes on until Stop.
	Start(ctx context.Context, sink Sink)
	// Stop looks once more, and tells what was seen. Its goroutines have ended.
	Stop(ctx context.Context) []Source
}

// Source is what a collector knows of one of its sources beside samples.
type Source struct {
	Name      string // as in samples
	Collector string
	Asked     bool   // it was named, and is not a guess
	Off       string // why nothing was taken; "" where something was
	Absent    bool   // it answers, and has no page: asking again is of no use
	Doubts    []string
	Families  []Family // what it published, without values
}

// Labels is the JSON object of pairs, which are in order; "" for none.
func Labels(pairs [][2]string) string {
	if len(pairs) == 0 {
		return ""
	}
	b := []byte{'{'}
	for i, p := range pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(b, p[0]), ':')
		b = appendJSON(b, p[1])
	}
	return string(append(b, '}'))
}

// appendJSON writes s as JSON does; most labels need no escape.
func appendJSON(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }) {
		return append(append(append(b, '"'), s...), '"')
	}
	q, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return append(b, q...)
}

// Pairs are the labels of a text that Labels made; none of any other text.
func Pairs(text string) map[string]string {
	out := map[string]string{}
	if text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return map[string]string{}
	}
	return out
}
