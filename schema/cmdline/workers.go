package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// slots are the settings that several workers divide among them, and what they count: each
// worker needs one of them.
var slots = map[string]string{
	"concurrency": "users", "in_flight": "requests in flight", "prefill_concurrency": "prefills at a time",
}

// slotsOf is what the setting at path counts, "" for one that is not divided.
func slotsOf(path string) string {
	leaf, own := strings.CutPrefix(fields.Canonical(path), fields.PhasePath+".")
	if !own {
		return ""
	}
	return slots[leaf]
}

// Raise is where a range from lo to hi of the setting at path begins for so many workers. Why
// says why it is not lo; "" where it is, also where the workers cannot share any of it.
func Raise(path string, lo, hi float64, workers int64) (from float64, why string) {
	counts, n := slotsOf(path), float64(workers)
	if counts == "" || workers <= 1 || !(lo < n) || !(n < hi) {
		return lo, ""
	}
	return n, fmt.Sprintf("%d workers: fewer than %d %s are not tried", workers, workers, counts)
}

// raiseSearch has a search begin with one slot for each worker.
func (l *Line) raiseSearch() {
	sw := l.Root.Get("sweep")
	if sw == nil || sw.Kind != source.Object {
		return
	}
	space := sw.Get("search_space")
	if space == nil || space.Kind != source.List {
		return
	}
	for _, d := range space.Items {
		lo, hi := d.Get("lo"), d.Get("hi")
		if lo == nil || hi == nil {
			continue
		}
		from, why := Raise(d.Get("path").Text(), source.NumberOf(lo.Plain()), source.NumberOf(hi.Plain()), l.Workers)
		if why != "" {
			d.Put("lo", source.LeafNode(int64(from), lo.Origin))
			l.Raised = why
		}
	}
}

// raised are the ascending values of a setting that a recipe makes up, of which those that workers cannot share are one
// that they can.
func (l *Line) raised(path string, values []*source.Node) []*source.Node {
	if len(values) < 2 {
		return values
	}
	first, last := source.NumberOf(values[0].Plain()), source.NumberOf(values[len(values)-1].Plain())
	from, why := Raise(path, first, last, l.Workers)
	if why == "" {
		return values
	}
	l.Raised = why
	kept := slices.DeleteFunc(slices.Clone(values), func(v *source.Node) bool {
		return !(source.NumberOf(v.Plain()) > from)
	})
	return append([]*source.Node{source.LeafNode(int64(from), values[0].Origin)}, kept...)
}

// raisedLevels is raised for the numbers of users that a recipe has by itself.
func (l *Line) raisedLevels(users ...int64) (out []any) {
	var values []*source.Node
	for _, n := range users {
		values = append(values, source.LeafNode(n, source.Origin{}))
	}
	for _, v := range l.raised(concurrencyPath, values) {
		out = append(out, v.Plain())
	}
	return out
}
