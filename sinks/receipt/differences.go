package receipt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// Difference is a field, or a setting that was asked for, that is not the same in both.
type Difference struct {
	Name    string // of the field, or the flag or key of the setting
	A, B    string // "unknown" for what nobody told
	Class   Class
	Unknown bool   // one or both are: that they differ is not shown, and not ruled out
	Moves   []Move // where the second has more than the first
}

// Unlike is a difference between two cells of the same name.
type Unlike struct {
	Cell string
	Difference
}

// chance is how many standard errors of a difference are put down to chance.
const chance = 4

const (
	// varies is from which share of the mean on lengths count as drawn: prompts that were cut
	// to one length are off by a token or two when they are counted again.
	varies = 0.05
	// kurtosis is that of the lengths which the error of their standard deviation takes for
	// granted: 3 is normal, 1.8 uniform, and real conversations have more.
	kurtosis = 9
)

// Differences are those of two receipts, the worst first. What is unknown in one of them
// differs, as Noted: nothing follows from it.
func Differences(a, b *Receipt) (out []Difference) {
	settings := len(a.Asked) > 0 && len(b.Asked) > 0
	if settings {
		out = askedDifferences(a.Asked, b.Asked)
	}
	for _, f := range Fields() {
		if f.Class == Told || f.Asked && settings {
			continue
		}
		x, knownX := a.values[f.Name]
		y, knownY := b.values[f.Name]
		d := Difference{Name: f.Name, A: unknown, B: unknown}
		if knownX {
			d.A = f.said(a, x)
		}
		if knownY {
			d.B = f.said(b, y)
		}
		switch {
		case !knownX || !knownY:
			d.Class, d.Unknown = Noted, true
		case f.Kind == Textual && x.text != y.text:
			d.Class, d.Moves = f.Class, eitherWay(f.Moves)
		case f.Kind == Numeric:
			if d.Class = f.classOf(a, b, x.number, y.number); d.Class == Told {
				continue
			}
			d.Moves = turned(f.Moves, y.number > x.number)
		default:
			continue
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(x, y Difference) int { return cmp.Compare(y.Class, x.Class) })
	return out
}

// classOf is what a difference of two numbers is; Told for none that counts.
func (f Field) classOf(a, b *Receipt, x, y float64) Class {
	if x == y {
		return Told
	}
	if f.hits != "" {
		if chanceOf(f.tally(a), f.tally(b)) < rare {
			return f.Class
		}
		return Told
	}
	if f.material == 0 {
		return f.Class
	}
	if f.of != "" {
		a, b := x > varies*a.Float(f.of), y > varies*b.Float(f.of)
		switch {
		case a != b && math.Max(x, y) > 2*math.Min(x, y):
			return Fatal
		case !a || !b:
			return Told // what is left of lengths that were to be the same
		}
	}
	by := math.Abs(x - y)
	by -= chance * math.Hypot(f.error(a, x), f.error(b, y))
	if !f.absolute {
		by /= max(math.Abs(x), math.Abs(y))
	}
	switch {
	case f.fatal > 0 && by > f.fatal:
		return Fatal
	case by > f.material:
		return f.Class
	}
	return Told
}

// rare is the chance below which two shares are not taken for one.
const rare = 0.01

// tally is how many of how many a share counts, in r; of several runs on average.
func (f Field) tally(r *Receipt) [2]float64 { return [2]float64{r.Float(f.hits), r.Float(f.n)} }

// chanceOf is how likely two tallies differ so much by chance; 1 where one is not known.
func chanceOf(a, b [2]float64) float64 {
	for _, v := range []float64{a[0], a[1], b[0], b[1]} {
		if !(v >= 0) {
			return 1
		}
	}
	whole := func(v float64) int64 { return int64(math.Round(v)) }
	return stats.FisherExact(whole(a[0]), whole(a[1]), whole(b[0]), whole(b[1]))
}

// said is a value as differences show it: a share that counts as "3 of 200".
func (f Field) said(r *Receipt, v value) string {
	if t := f.tally(r); f.hits != "" && t[0] >= 0 && t[1] > 0 {
		return fmt.Sprintf("%s of %s", words.Grouped(t[0]), words.Grouped(t[1]))
	}
	return v.String()
}

// error is the standard error of a field of r that is v; 0 where nothing says how it varies.
func (f Field) error(r *Receipt, v float64) float64 {
	n := r.Float(f.n)
	if !(n > 0) {
		return 0
	}
	if f.of != "" {
		return v * math.Sqrt((kurtosis-1)/(4*n))
	}
	if f.sd != "" {
		if sd := r.Float(f.sd); sd > 0 {
			return sd / math.Sqrt(n)
		}
		return 0
	}
	p := min(max(v, 1/(n+1)), n/(n+1)) // a share of 0 of a few is not known exactly
	return math.Sqrt(p * (1 - p) / n)
}

// turned are moves where the second has more, or less.
func turned(moves []Move, more bool) []Move {
	out := slices.Clone(moves)
	for i := range out {
		if !more {
			out[i].Way = -out[i].Way
		}
	}
	return out
}

func eitherWay(moves []Move) []Move {
	out := slices.Clone(moves)
	for i := range out {
		out[i].Way = 0
	}
	return out
}

// askedDifferences are those of settings, each of them another workload: what was asked for
// before what follows from it, as the size of a synthetic data set is that of the requests.
func askedDifferences(a, b []Fact) []Difference {
	there := map[string]string{}
	for _, f := range b {
		there[f.Name] = f.Value
	}
	var asked, follows []Difference
	differ := func(name, was, is string) {
		d := Difference{Name: typedAs(name, a), A: was, B: is, Class: Fatal}
		if strings.HasPrefix(name, "datasets.") && strings.HasSuffix(name, ".random_seed") {
			d.Class = Noted // other draws of one distribution
		}
		if strings.HasPrefix(name, "datasets.") && strings.HasSuffix(name, ".entries") {
			follows = append(follows, d)
			return
		}
		asked = append(asked, d)
	}
	for _, f := range a {
		is, ok := there[f.Name]
		if delete(there, f.Name); !ok {
			differ(f.Name, f.Value, notSet)
		} else if is != f.Value {
			differ(f.Name, f.Value, is)
		}
	}
	for _, f := range b {
		if is, left := there[f.Name]; left {
			differ(f.Name, notSet, is)
		}
	}
	return append(asked, follows...)
}

// notSet is the value of a setting that only the other has.
const notSet = "not set"

// typedAs is the flag of a setting, or its key: "--request-count" of "phases.0.requests".
// One of several phases or data sets has a key alone, as flags are about the only one.
func typedAs(name string, of []Fact) string {
	list, rest, _ := strings.Cut(name, ".")
	at, rest, numbered := strings.Cut(rest, ".")
	path := "benchmark." + name
	switch {
	case !numbered:
	case list == "datasets":
		path = "benchmark.datasets.main." + rest
	case list == "phases":
		path = "benchmark.phases." + valueOf(of, "phases."+at+".kind", "profiling") + "." + rest
	}
	another := func(f Fact) bool {
		return numbered && strings.HasPrefix(f.Name, list+".") && !strings.HasPrefix(f.Name, list+"."+at+".")
	}
	if !slices.ContainsFunc(of, another) {
		for _, o := range schema.Options() {
			if o.Path == path && !o.Hidden && o.Instead == "" && !o.Unsupported {
				return o.Typed()
			}
		}
	}
	return name
}

func valueOf(of []Fact, name, without string) string {
	for _, f := range of {
		if f.Name == name {
			return f.Value
		}
	}
	return without
}

// String is the difference as people read it: "--isl is 64 in the first, 128 in the second".
func (d Difference) String() string {
	return fmt.Sprintf("%s is %s in the first, %s in the second", d.Name, d.A, d.B)
}

// CanMove says what the difference can do to metrics, "" for nothing: "raises
// request_latency, lowers request_throughput, moves inter_token_latency".
func (d Difference) CanMove() string {
	var parts []string
	for _, way := range []struct {
		way  int
		word string
	}{{1, "raises "}, {-1, "lowers "}, {0, "moves "}} {
		var tags []string
		for _, m := range d.Moves {
			if m.Way == way.way {
				tags = append(tags, m.Metric)
			}
		}
		if len(tags) > 0 {
			parts = append(parts, way.word+joined(tags))
		}
	}
	return joined(parts)
}
