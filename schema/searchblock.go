package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/cmdline"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// readSearch makes of a search what every other part of an experiment knows: an axis, of
// which the lower end of the range is the only value that is known before the first run,
// and the SLOs of the body.
func (d *draft) readSearch(root *source.Node) (bad Errors) {
	s := root.Get("search")
	if s == nil || s.Kind != source.Object {
		return nil
	}
	if sw := root.Get("sweep"); sw.Get("runs") != nil || sw.Get("dimensions") != nil || len(d.axes.All) > 0 {
		return source.Mistake(s.Origin, "search", "cannot be combined with a sweep or a list of values",
			"leave the sweep out, and run one search for each of its values")
	}
	bad = append(bad, d.searchLimits(root, s)...)
	path, span := s.Get("path"), s.Get("range")
	if path.Text() == "" || span == nil || span.Kind != source.List || len(span.Items) != 2 ||
		!(source.NumberOf(span.Items[0].Plain()) > 0) {
		return bad // the schema says what is wrong
	}
	d.raiseRange(s, path.Text(), span)
	axis := source.ObjectNode(span.Origin)
	axis.Put(path.Text(), &source.Node{Kind: source.List, Items: span.Items[:1], Origin: span.Origin})
	axis.Field(path.Text()).Origin = path.Origin
	return append(bad, d.addAxes(axis, "search.path", 0)...)
}

// raiseRange has a search begin with one slot for each worker.
func (d *draft) raiseRange(s *source.Node, path string, span *source.Node) {
	lo, hi := span.Items[0], source.NumberOf(span.Items[1].Plain())
	from, why := cmdline.Raise(path, source.NumberOf(lo.Plain()), hi, d.src.Workers)
	if why == "" {
		return
	}
	d.raised, span.Items = why, []*source.Node{source.LeafNode(int64(from), lo.Origin), span.Items[1]}
	if start := s.Get("start"); start != nil && source.NumberOf(start.Plain()) < from {
		s.Put("start", source.LeafNode(int64(from), start.Origin))
	}
}

// searchLimits lays the limits of where over the SLOs, and reads those of tiers.
func (d *draft) searchLimits(root, s *source.Node) (bad Errors) {
	where, tiers := s.Get("where"), s.Get("tiers")
	if tiers != nil && tiers.Kind == source.Object {
		if where != nil {
			return source.Mistake(where.Origin, "search.where", "cannot be combined with tiers",
				"each tier has its own where")
		}
		for _, f := range tiers.Fields {
			_, wrong := limitsOf(f.Value.Get("where"), "search.tiers."+f.Name+".where")
			bad = append(bad, wrong...)
		}
		return bad
	}
	body := root.Get("benchmark")
	if where == nil || body == nil || body.Kind != source.Object {
		return nil
	}
	if body.Get("slos") != nil {
		return source.Mistake(where.Origin, "search.where", "says limits that slos say, too",
			"keep one of them: without where a search goes by slos")
	}
	for _, a := range d.src.Assignments {
		if a.Path == "benchmark.slos" || strings.HasPrefix(a.Path, "benchmark.slos.") {
			return source.Mistake(a.Origin, a.Path, "says limits that search.where says, too",
				"leave it out, or where: without where a search goes by slos")
		}
	}
	slos, bad := limitsOf(where, "search.where")
	if len(slos.Fields) > 0 {
		body.Put("slos", slos)
		body.Field("slos").Origin = where.Origin
	}
	return bad
}

// limitsOf reads limits as SLOs.
func limitsOf(where *source.Node, path string) (slos *source.Node, bad Errors) {
	if where == nil {
		return nil, nil // the schema says what is wrong
	}
	limits := where.Items
	if where.Kind != source.List { // a list of one may be written without brackets
		limits = []*source.Node{where}
	}
	slos = source.ObjectNode(where.Origin)
	for i, n := range limits {
		at := fmt.Sprintf("%s.%d", path, i)
		l, ok := ParseLimit(n.Text())
		switch {
		case n.Text() == "": // the schema says what is wrong
		case !ok:
			bad = append(bad, source.Mistake(n.Origin, at,
				fmt.Sprintf("%q: expected one metric of a request and its limit", n.Text()),
				`such as "time_to_first_token < 500"; a percentile of all requests is written as share, and what a whole run shows in also`)...)
		case l.Unmet():
			bad = append(bad, source.Mistake(n.Origin, at, fmt.Sprintf("%q: no request is below %g", n.Text(), l.Value),
				"give a limit above 0")...)
		case slos.Get(l.Tag) != nil:
			bad = append(bad, source.Mistake(n.Origin, at, "limits "+l.Tag+" twice", "keep the narrower one")...)
		default:
			slos.Put(l.Tag, lower.Assign("", l.Value, n.Origin).Value)
			slos.Field(l.Tag).Origin = n.Origin
		}
	}
	return slos, bad
}

// Limit is a limit on a metric of a request.
type Limit struct {
	Tag   string
	Above bool // the metric has to be above Value, not below
	Value float64
}

// Unmet reports whether no request can meet the limit: no figure of a request is below 0.
func (l Limit) Unmet() bool { return !l.Above && l.Value <= 0 }

// ParseLimit reads "time_to_first_token < 500". Times are continuous, so that < and <=
// are the same. Names of screens, such as TTFT, mean their metrics. "correct" asks for right answers to questions.
func ParseLimit(text string) (Limit, bool) {
	if text == "correct" {
		return Limit{Tag: "accuracy", Above: true, Value: 1}, true
	}
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Limit{}, false
	}
	l := Limit{Tag: strings.TrimSpace(text[:at]), Above: text[at] == '>'}
	l.Tag = cmp.Or(flags.LimitNames[strings.ToLower(l.Tag)], l.Tag)
	value, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(text[at+1:], "=")), 64)
	l.Value = value
	finite := err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
	return l, finite && l.Tag != "" && !slices.ContainsFunc([]rune(l.Tag),
		func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
