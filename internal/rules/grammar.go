package rules

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

func nearest(word string, among []string) string { return suggest.Nearest(word, among) }

// nameOf is what a set, a case or a rule may be called.
var nameOf = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (p *parser) name(n *yaml.Node, what string) string {
	s := p.text(n, what)
	if p.err == nil && !nameOf.MatchString(s) {
		p.wrong(n, fmt.Sprintf("%s: %q is not a name", what, words.Clip(s, 40)),
			"lower-case letters, digits, dots, hyphens and underscores")
	}
	return s
}

// set reads a whole file.
func (p *parser) set(n *yaml.Node) *Set {
	s := &Set{}
	var rules, cases *yaml.Node
	has := p.members(n, "a set of rules", map[string]func(*yaml.Node){
		"schema": func(v *yaml.Node) {
			if v.Value != Schema {
				p.wrong(v, "schema: expected "+Schema+", got "+kindOf(v), "")
			}
		},
		"name":    func(v *yaml.Node) { s.Name = p.name(v, "name") },
		"title":   func(v *yaml.Node) { s.Title = p.text(v, "title") },
		"version": func(v *yaml.Node) { s.Version = p.text(v, "version") },
		"source":  func(v *yaml.Node) { s.Source = p.text(v, "source") },
		"beyond": func(v *yaml.Node) {
			p.list(v, "beyond", func(x *yaml.Node) { s.Beyond = append(s.Beyond, p.text(x, "beyond")) })
		},
		"cases": func(v *yaml.Node) { cases = v },
		"rules": func(v *yaml.Node) { rules = v },
	})
	for _, need := range []string{"schema", "name", "version", "source", "rules"} {
		if p.err == nil && !has[need] {
			p.wrong(n, "a set of rules needs "+need, missing[need])
		}
	}
	if p.err != nil {
		return s
	}
	p.list(rules, "rules", func(x *yaml.Node) { p.rule(s, x) })
	if p.err == nil && len(s.Rules) == 0 {
		p.wrong(rules, "rules: none", "a rule is - {rule: duration, at_least: 600 s}")
	}
	if cases != nil && p.err == nil {
		p.cases(s, cases)
	}
	return s
}

// missing says how to write what a set needs.
var missing = map[string]string{
	"schema": "its first line is schema: " + Schema, "name": "name: my-rules", "rules": "rules: followed by a list",
	"version": "version: of the text that it follows, so that a result says which", "source": "source: where that text stands",
}

// cases reads the values of the names in the rules.
func (p *parser) cases(s *Set, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || len(n.Content) > 2*most {
		p.wrong(n, "cases: expected names with values, got "+kindOf(n), "")
		return
	}
	units := map[string]string{} // of the names that the rules use
	for _, r := range s.Rules {
		for _, b := range []*Bound{r.Least, r.Most} {
			if b != nil && b.Name != "" {
				units[b.Name] = b.Unit
			}
		}
	}
	for i := 0; i+1 < len(n.Content) && p.err == nil; i += 2 {
		c := Case{Name: p.name(n.Content[i], "cases"), values: map[string]value{}}
		if slices.ContainsFunc(s.Cases, func(have Case) bool { return have.Name == c.Name }) {
			p.wrong(n.Content[i], "cases: "+c.Name+" stands here twice", "keep one")
		}
		read := map[string]func(*yaml.Node){}
		for name, unit := range units {
			read[name] = func(v *yaml.Node) { c.values[name] = p.quantity(v, name, unit) }
		}
		if p.err == nil {
			p.members(n.Content[i+1], "case "+c.Name, read)
		}
		s.Cases = append(s.Cases, c)
	}
}

// needs are the members that each kind of rule has besides rule, id and says; those of the
// first list must be there.
var needs = map[Kind]struct{ must, may []string }{
	Duration:    {[]string{"at_least"}, []string{"until"}},
	Requests:    {[]string{"at_least"}, nil},
	Trials:      {[]string{"at_least"}, nil},
	LoadLaw:     {[]string{"is"}, nil},
	Setting:     {[]string{"path", "is"}, nil},
	Figure:      {[]string{"metric"}, []string{"stat", "at_least", "at_most"}},
	EarlyStop:   {[]string{"metric", "share"}, []string{"at_most", "confidence", "tolerance"}},
	Repeated:    {[]string{"at_most"}, nil},
	Measurement: {[]string{"is"}, nil},
}

// Kinds are those of rules, in order.
func Kinds() []string {
	return []string{
		string(Duration), string(Requests), string(Trials), string(LoadLaw), string(Setting), string(Figure),
		string(EarlyStop), string(Repeated), string(Measurement),
	}
}

// rule reads one rule. What it holds depends on its kind, which may stand anywhere in it.
func (p *parser) rule(s *Set, n *yaml.Node) {
	r := Rule{Confidence: defaultConfidence, Until: Sent}
	if n.Kind != yaml.MappingNode {
		p.wrong(n, "rules: expected names with values, got "+kindOf(n), "a rule is {rule: duration, at_least: 600 s}")
		return
	}
	at := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at[n.Content[i].Value] = n.Content[i+1]
	}
	kind := at["rule"]
	if kind == nil {
		p.wrong(n, "a rule needs rule, its kind", "kinds are "+words.And(Kinds()))
		return
	}
	need, ok := needs[Kind(kind.Value)]
	if !ok {
		hint := "kinds are " + words.And(Kinds())
		if near := nearest(kind.Value, Kinds()); near != "" {
			hint = "did you mean " + near + "?"
		}
		p.wrong(kind, "rule: no kind is called "+words.Clip(kind.Value, 40), hint)
		return
	}
	r.Kind = Kind(kind.Value)
	what := "rule " + kind.Value
	if m := at["metric"]; m != nil { // the unit of its bounds
		r.Metric = p.metric(m, r.Kind)
	}
	if m := at["stat"]; m != nil {
		r.Stat = p.text(m, "stat")
	}
	all := p.readers(&r, what)
	read := map[string]func(*yaml.Node){
		"rule": func(*yaml.Node) {}, "id": func(v *yaml.Node) { r.ID = p.name(v, "id") },
		"says": func(v *yaml.Node) { r.Says = p.text(v, "says") },
	}
	for _, name := range append(slices.Clone(need.must), need.may...) {
		read[name] = all[name]
	}
	if p.err != nil {
		return
	}
	has := p.members(n, what, read)
	for _, name := range need.must {
		if p.err == nil && !has[name] {
			p.wrong(n, what+" needs "+name, "")
		}
	}
	p.whole(&r, n)
	if r.ID == "" {
		r.ID = strings.Trim(string(r.Kind)+"-"+r.Metric, "-")
	}
	if p.err == nil && slices.ContainsFunc(s.Rules, func(have Rule) bool { return have.ID == r.ID }) {
		p.wrong(n, "two rules are called "+r.ID, "give one of them an id")
	}
	s.Rules = append(s.Rules, r)
}

const defaultConfidence = 0.99 // of early stopping

// readers read the members of a rule.
func (p *parser) readers(r *Rule, what string) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"metric":     func(*yaml.Node) {}, // read before
		"stat":       func(*yaml.Node) {},
		"at_least":   func(v *yaml.Node) { r.Least = p.bound(v, "at_least", r.unit()) },
		"at_most":    func(v *yaml.Node) { r.Most = p.bound(v, "at_most", r.unit()) },
		"share":      func(v *yaml.Node) { r.Share = p.share(v, "share") },
		"confidence": func(v *yaml.Node) { r.Confidence = p.share(v, "confidence") },
		"tolerance":  func(v *yaml.Node) { r.Tolerance = p.share(v, "tolerance") },
		"path":       func(v *yaml.Node) { r.Path = strings.TrimPrefix(p.text(v, "path"), "benchmark.") },
		"until": func(v *yaml.Node) {
			if r.Until = p.text(v, "until"); p.err == nil && r.Until != Sent && r.Until != Answered {
				p.wrong(v, "until: expected sent or answered, got "+kindOf(v), "")
			}
		},
		"is": func(v *yaml.Node) { p.is(r, v, what) },
	}
}

// whole refuses a rule whose members do not go together.
func (p *parser) whole(r *Rule, n *yaml.Node) {
	switch {
	case p.err != nil:
	case r.Kind == Figure:
		m, _ := metrics.Lookup(r.Metric)
		if r.Stat == "" {
			r.Stat = "avg"
		}
		if stats := m.Stats(); !slices.Contains(stats, r.Stat) {
			p.wrong(n, fmt.Sprintf("stat: %s has no %s", r.Metric, words.Clip(r.Stat, 40)), "it has "+words.And(stats))
		}
		if r.Least == nil && r.Most == nil {
			p.wrong(n, "rule metric needs at_least or at_most", "")
		}
	case r.Kind == EarlyStop && r.Metric == Limits && r.Most != nil:
		p.wrong(n, "at_most: the limits of slos are those of the experiment", "drop it, or name a metric")
	case r.Kind == EarlyStop && r.Metric != Limits && r.Most == nil:
		p.wrong(n, "rule early_stopping needs at_most", "at_most: 2000 ms, or metric: slos")
	case r.Kind == EarlyStop && r.Tolerance >= r.Share:
		p.wrong(n, fmt.Sprintf("tolerance: %g is not below share, %g", r.Tolerance, r.Share), "MLPerf's is 0")
	}
}

// is reads what is allowed: a word or a list of words, of a setting a plain value.
func (p *parser) is(r *Rule, v *yaml.Node, what string) {
	if r.Kind == Setting {
		if v.Kind != yaml.ScalarNode || v.Decode(&r.Want) != nil || r.Want == nil {
			p.wrong(v, "is: expected a number, a word, true or false, got "+kindOf(v), "")
		}
		return
	}
	known := Loads()
	if r.Kind == Measurement {
		known = []string{validity.Valid.String(), validity.Degraded.String()}
	}
	list := v
	if v.Kind == yaml.ScalarNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{v}, Line: v.Line, Column: v.Column}
	}
	p.list(list, "is", func(x *yaml.Node) {
		word := p.text(x, "is")
		if p.err == nil && !slices.Contains(known, word) {
			hint := "there are " + words.And(known)
			if near := nearest(word, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			p.wrong(x, what+" knows no "+words.Clip(word, 40), hint)
		}
		r.Is = append(r.Is, word)
	})
	if p.err == nil && len(r.Is) == 0 {
		p.wrong(v, "is: nothing", "there are "+words.And(known))
	}
}

// metric reads a tag.
func (p *parser) metric(n *yaml.Node, of Kind) string {
	tag := p.text(n, "metric")
	if p.err != nil || of == EarlyStop && tag == Limits {
		return tag
	}
	m, ok := metrics.Lookup(tag)
	switch {
	case !ok:
		hint := "aiperf explain metric lists them"
		if near := metrics.Suggest(tag); near != "" {
			hint = "did you mean " + near + "?"
		}
		p.wrong(n, "metric: no metric is called "+words.Clip(tag, 60), hint)
	case of == EarlyStop && !slices.Contains(Timed(), m.Tag):
		p.wrong(n, "metric: early_stopping counts no requests by "+tag, "it does by "+words.And(append(Timed(), Limits)))
	}
	return tag
}

// unit is that of the bounds of a rule.
func (r *Rule) unit() string {
	switch r.Kind {
	case Duration:
		return "s"
	case Requests, Trials:
		return countUnit
	case Repeated:
		return ratioUnit
	}
	if m, ok := metrics.Lookup(r.Metric); ok && r.Stat != "count" {
		return m.Unit
	}
	return ""
}

const (
	countUnit = "count" // a whole number
	ratioUnit = "ratio" // 10 % or 0.1
)

// value is a number in the unit that is wanted.
type value struct{ number float64 }

// bound reads a number with its unit, or $name.
func (p *parser) bound(n *yaml.Node, what, unit string) *Bound {
	if name, ok := strings.CutPrefix(n.Value, "$"); ok && n.Kind == yaml.ScalarNode {
		if !nameOf.MatchString(name) {
			p.wrong(n, fmt.Sprintf("%s: %q is not a name", what, words.Clip(n.Value, 40)), "$ttft, which cases gives a value")
		}
		return &Bound{Name: name, Unit: unit}
	}
	return &Bound{Value: p.quantity(n, what, unit).number, Unit: unit}
}

// amount is a number with a unit behind it.
var amount = regexp.MustCompile(`^([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) ?(ms|s|min|m|h|%|us)?$`)

// inMillis and inSeconds are units of time.
var inSeconds = map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "m": 60, "h": 3600}

// quantity reads a number in a unit: "600 s", "10 min", "2000 ms", "10 %", 0.1, 24576.
func (p *parser) quantity(n *yaml.Node, what, unit string) value {
	example := map[string]string{"s": "600 s", "ms": "2000 ms", ratioUnit: "10 %", countUnit: "1000"}[unit]
	if example == "" {
		example = "12.5"
	}
	m := amount.FindStringSubmatch(strings.TrimSpace(n.Value))
	if n.Kind != yaml.ScalarNode || m == nil {
		p.wrong(n, what+": expected a number such as "+example+", got "+kindOf(n), "")
		return value{}
	}
	v, err := strconv.ParseFloat(strings.NewReplacer("_", "", ",", "").Replace(m[1]), 64)
	from, time := inSeconds[m[2]]
	to := inSeconds[unit]
	switch {
	case err != nil || math.IsInf(v, 0):
		p.wrong(n, what+": expected a number such as "+example+", got "+kindOf(n), "")
	case m[2] == "%" && unit == ratioUnit:
		v /= 100
	case m[2] == unit:
	case m[2] == "" && (unit == "s" || unit == "ms") && v != 0:
		p.wrong(n, fmt.Sprintf("%s: %s has no unit", what, n.Value), "write "+example)
	case m[2] == "":
	case time && to > 0:
		v *= from / to
	default:
		p.wrong(n, fmt.Sprintf("%s: %s is not in %s", what, n.Value, spokenUnit(unit)), "write "+example)
	}
	if p.err == nil && unit == countUnit && v != math.Trunc(v) {
		p.wrong(n, what+": expected a whole number, got "+kindOf(n), "")
	}
	return value{v}
}

func spokenUnit(unit string) string {
	switch unit {
	case countUnit, "":
		return "a plain number"
	case ratioUnit:
		return "a share"
	}
	return unit
}

// surest is the largest share that a rule may ask for: a million requests show no more.
const surest = 0.99999

// share reads a share of all: 99 % or 0.99.
func (p *parser) share(n *yaml.Node, what string) float64 {
	v := p.quantity(n, what, ratioUnit).number
	if p.err == nil && (v > surest || v < 0 || v == 0 && what != "tolerance") {
		p.wrong(n, fmt.Sprintf("%s: expected a share between 0 and %g, got %s", what, surest, kindOf(n)), "99 % or 0.99")
	}
	return v
}
