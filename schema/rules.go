package schema

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/header"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// methodName is a gRPC method as an experiment names it.
var methodName = regexp.MustCompile(`^/?[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)

// blame is told of the field, below benchmark, that breaks a rule.
type blame func(path, message, hint string)

// rule is a condition beyond what one object says of itself; that is CUE, in the
// object's #rules, so that cells can be checked part by part. What a setting needs
// to have an effect is no rule but a row of effects. It looks at the checked body of a
// cell: at its members called of, which are as they should be.
type rule struct {
	name string // what it asks for
	of   string
	file bool // of files: a flag that breaks it has no effect and is warned of
	body func(b *Benchmark, found blame)
}

// acrossObjects runs the rules on a checked body.
func (cs *cells) acrossObjects(c *cell) Errors {
	var bad Errors
	for _, r := range bodyRules {
		broken := func(member string) bool { return slices.Contains(c.broken, member) }
		if r.file && cs.src.File == "" || slices.ContainsFunc(strings.Fields(r.of), broken) {
			continue
		}
		r.body(&c.resolved.Benchmark, func(path, message, hint string) {
			path = source.Join("benchmark", path)
			at := c.root.At(path)
			for p := path; at == nil; at = c.root.At(p) {
				p, _ = source.Cut(p)
			}
			wrong := source.Mistake(at.Origin, c.root.Written(path), message, hint)
			wrong[0].Ruled = r.of != "endpoint"
			bad = append(bad, wrong...)
		})
	}
	return bad
}

// knownTags refuses limits on metrics that nobody measures.
func (cs *cells) knownTags(root *source.Node) (bad Errors) {
	if cs.src.Tags == nil {
		return nil
	}
	for _, ph := range itemsOf(root.At("benchmark.phases")) {
		for _, limit := range itemsOf(ph.Get("adaptive_scale").Get("sla")) {
			tag := limit.Get("metric_tag")
			if tag != nil && !slices.Contains(cs.src.Tags, tag.Text()) {
				bad = append(bad, source.Mistake(tag.Origin, tag.Origin.Path, "no metric is called "+tag.Text(),
					suggest.Hint(tag.Text(), cs.src.Tags))...)
			}
		}
	}
	slos := root.At("benchmark.slos")
	if slos == nil {
		return bad
	}
	for _, f := range slos.Fields {
		if !slices.Contains(cs.src.Tags, f.Name) {
			bad = append(bad, source.Mistake(f.Origin, cmp.Or(f.Origin.Path, "benchmark.slos."+f.Name),
				"no metric is called "+f.Name, suggest.Hint(f.Name, cs.src.Tags))...)
		}
		if slices.Contains(cs.src.RunTags, f.Name) {
			bad = append(bad, source.Mistake(f.Origin, cmp.Or(f.Origin.Path, "benchmark.slos."+f.Name),
				f.Name+" is a figure of the whole run, not of a request",
				"gates hold it against a limit: --set 'gates=[\""+f.Name+" > 10\"]'")...)
		}
	}
	return bad
}

func phase(i int, name string) string { return source.Join("phases."+strconv.Itoa(i), name) }

func (b *Benchmark) dataset() Dataset {
	if len(b.Datasets) == 0 {
		return Dataset{}
	}
	return b.Datasets[0]
}

var bodyRules = []rule{
	{name: "a profiling phase", of: "phases", body: func(b *Benchmark, found blame) {
		for _, p := range b.Phases {
			if p.Kind == "profiling" {
				return
			}
		}
		found("phases", "no profiling phase", "add profiling: {type: concurrency, concurrency: 1, requests: 10}")
	}},
	{name: "shares of a mixture", of: "datasets", body: func(b *Benchmark, found blame) {
		for i := range b.Datasets {
			sum := 0.0
			for _, p := range b.Datasets[i].Prompts.Pairs {
				sum += p.Probability
			}
			if len(b.Datasets[i].Prompts.Pairs) > 0 && math.Abs(sum-100) > 0.1 {
				found(source.Join("datasets."+strconv.Itoa(i), "prompts.sequence_distribution"),
					fmt.Sprintf("the shares make %g percent, not 100", sum), "")
			}
		}
	}},
	{name: "phase names differ", of: "phases", body: func(b *Benchmark, found blame) {
		seen := map[string]int{}
		for i, p := range b.Phases {
			if j, dup := seen[suggest.Fold(p.Name)]; dup {
				found(phase(i, "name"), fmt.Sprintf("%q is the name of phase %d as well", p.Name, j+1),
					"names must differ in more than case")
			}
			seen[suggest.Fold(p.Name)] = i
		}
	}},
	{name: "a rate over time goes forward", of: "phases", body: func(b *Benchmark, found blame) {
		for i, p := range b.Phases {
			for k := 1; k < len(p.RateSeries); k++ {
				if last, now := p.RateSeries[k-1].TimeS, p.RateSeries[k].TimeS; !(now > last) {
					found(phase(i, "rate_series.points."+strconv.Itoa(k)+".time_s"),
						fmt.Sprintf("%g does not come after %g", now, last), "points stand in the order of their times")
				}
			}
		}
	}},
	{name: "the first phase has nothing to follow", of: "phases", body: func(b *Benchmark, found blame) {
		if len(b.Phases) > 0 && b.Phases[0].Seamless {
			found(phase(0, "seamless"), "the first phase cannot be seamless", "drop it")
		}
	}},
	{name: "not too many slices of time", of: "artifacts phases", body: func(b *Benchmark, found blame) {
		lasts := 0.0 // seconds that are measured at least
		for _, p := range b.Phases {
			if t := fields.PhaseNamed(p.Type); p.Kind == "profiling" && p.Duration != nil &&
				!t.Ends && p.Requests == 0 && p.Sessions == 0 {
				lasts += float64(*p.Duration)
			}
		}
		if length := b.Artifacts.SliceDuration; length != nil &&
			!math.IsInf(lasts, 0) && lasts > MaxSlices*float64(*length) {
			found("artifacts.slice_duration",
				fmt.Sprintf("%g s cuts the %g s that are measured into more than %d slices", float64(*length), lasts,
					MaxSlices), fmt.Sprintf("take %g s or more", math.Ceil(lasts/MaxSlices*1000)/1000))
		}
	}},
	{name: "slots that can be held", of: "phases", body: func(b *Benchmark, found blame) {
		for i, p := range b.Phases {
			for _, x := range []struct {
				name string
				n    int
			}{
				{"concurrency", p.Concurrency},
				{"in_flight", p.InFlight},
				{"prefill_concurrency", p.PrefillConcurrency},
			} {
				if x.n > mostSlots {
					found(phase(i, x.name), fmt.Sprintf("must be at most %d, got %d", mostSlots, x.n),
						"each is a connection of its own: one address takes about 28,000")
				}
			}
		}
	}},
	{name: "a bound for each phase", of: "phases accuracy", body: func(b *Benchmark, found blame) {
		for i, p := range b.Phases {
			if t := fields.PhaseNamed(p.Type); !t.Ends && !p.Once && p.Requests == 0 && p.Duration == nil &&
				p.Sessions == 0 {
				found(phase(i, ""), "no stop condition is given",
					"add requests, duration or sessions (--request-count, --benchmark-duration, --num-sessions)")
			}
		}
	}},
	{name: "questions where the load chooses what is sent", of: "accuracy phases", body: func(b *Benchmark, found blame) {
		for _, p := range b.Phases {
			t := fields.PhaseNamed(p.Type)
			if b.Accuracy != nil && p.Kind == "profiling" && t != nil && (t.Timed || t.Primed) {
				found("accuracy", "a phase of type "+p.Type+" sends what was recorded, and no questions",
					"use another type of load, such as concurrency or poisson")
			}
		}
	}},
	{name: "some load needs turns", of: "phases datasets", body: func(b *Benchmark, found blame) {
		d := b.dataset()
		for i, p := range b.Phases {
			if least := fields.PhaseNamed(p.Type).Turns; d.Made() && d.Turns.Typical() < float64(least) {
				found(phase(i, "type"), fmt.Sprintf("%s needs conversations of %d turns or more", p.Type, least),
					fmt.Sprintf("set turns (--conversation-turn-mean %d)", least))
			}
		}
	}},
	{name: "a schedule needs time stamps", of: "phases datasets", body: func(b *Benchmark, found blame) {
		d := b.dataset()
		for i, p := range b.Phases {
			if fields.PhaseNamed(p.Type).Timed && d.Made() {
				found(phase(i, "type"), p.Type+" needs a data set with timestamps",
					"set dataset: {type: file, path: …} (--input-file)")
			}
		}
	}},
	{name: "prefixes have a number and a length", of: "datasets", file: true, body: func(b *Benchmark, found blame) {
		for i, d := range b.Datasets {
			if p := d.Prefix; p != nil && (p.PoolSize > 0) != (p.Length > 0) {
				found("datasets."+strconv.Itoa(i)+".prefix_prompts", "pool_size and length go together",
					"set both (--num-prefix-prompts, --prefix-prompt-length)")
			}
		}
	}},
	{name: "give the distributions to draw from", of: "datasets", body: func(b *Benchmark, found blame) {
		for i, d := range b.Datasets {
			for _, x := range d.shapes() {
				if path := x.shape.unsaid(x.name); path != "" {
					found("datasets."+strconv.Itoa(i)+"."+path, "no distribution is given",
						"a number, or such as {mean: 128, stddev: 16}")
				}
				if path, shape := x.shape.unread(x.name); path != "" {
					found("datasets."+strconv.Itoa(i)+"."+path, "has no effect beside "+shape,
						"a distribution has one shape: drop it")
				}
			}
		}
	}},
	{name: "headers can be sent", of: "endpoint", body: func(b *Benchmark, found blame) {
		for i, h := range b.Endpoint.Headers {
			if err := header.Check(h.Name, h.Value); err != nil {
				found("endpoint.headers", err.Error(), "leave it out")
			}
			if slices.ContainsFunc(b.Endpoint.Headers[:i],
				func(o Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
				found("endpoint.headers", h.Name+" is given twice",
					"keep one of them: case makes no difference in the name of a header")
			}
		}
	}},
	{name: "paths can be asked for", of: "endpoint", body: func(b *Benchmark, found blame) {
		switch p := b.Endpoint.Path; {
		case strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			found("endpoint.path", fmt.Sprintf("%q: a path has no blanks and no control characters", p),
				"write %20 for a blank")
		case strings.Contains(p, "://"):
			found("endpoint.path", fmt.Sprintf("%q is an address, not the path below one", p),
				"name the server with endpoint.urls (--url)")
		}
	}},
	{name: "gRPC methods have a service", of: "endpoint", body: func(b *Benchmark, found blame) {
		if rpc := b.Endpoint.RPC; rpc != nil && !methodName.MatchString(rpc.Method) {
			found("endpoint.rpc.method", fmt.Sprintf("%q does not name a gRPC method", rpc.Method),
				"write package.Service/Method, such as inference.GRPCInferenceService/ModelInfer")
		}
	}},
	{name: "flips say what to do, and no secret", of: "endpoint", body: func(b *Benchmark, found blame) {
		f := b.Endpoint.Flip
		switch {
		case f == nil:
		case f.Call == "" && len(f.Command) == 0:
			found("endpoint.flip", "needs a call or a command",
				"such as {call: /reset_prefix_cache} or {command: [./restart.sh, new]}")
		case f.Method == "GET" && f.Body != nil:
			found("endpoint.flip.body", "cannot be combined with method: GET", "leave one of them out")
		case strings.HasPrefix(f.Call, "/") && slices.ContainsFunc(b.Endpoint.URLs,
			func(u string) bool { return strings.HasPrefix(u, "grpc") }):
			found("endpoint.flip.call", "a path needs an HTTP server, and the endpoint speaks gRPC",
				"give the call a full address, such as http://localhost:8000/path"+f.Call)
		case secret.InCommand(f.Command):
			found("endpoint.flip.command", "holds a credential, which results would show",
				"a command has this program's environment: let it read the credential there")
		}
	}},
	{name: "hooks say what to do, and no secret", of: "server", body: func(b *Benchmark, found blame) {
		for list, hooks := range b.Server.All() {
			for i, h := range hooks {
				h.check(b, fmt.Sprintf("%s.%d", strings.TrimPrefix(list, "benchmark."), i), found)
			}
		}
	}},
	{name: "addresses", of: "endpoint", body: func(b *Benchmark, found blame) {
		for i, u := range b.Endpoint.URLs {
			scheme, rest, _ := strings.Cut(u, ":")
			switch {
			case scheme == "mock":
			case scheme != "http" && scheme != "https" && scheme != "grpc" && scheme != "grpcs":
				found("endpoint.urls."+strconv.Itoa(i), fmt.Sprintf("%q is not an address of an HTTP server",
					secret.URL(u)), "such as http://localhost:8000, grpc://localhost:8001, or mock: for the built-in server")
			case strings.ContainsAny(strings.TrimSpace(u), " \t\n"):
				found("endpoint.urls."+strconv.Itoa(i), fmt.Sprintf("%q is not an address: it holds a blank",
					secret.URL(u)), "write %20 for a blank")
			case strings.Trim(rest, "/ ") == "" || strings.HasPrefix(rest, "//:") && !strings.HasPrefix(rest, "//::") ||
				strings.ContainsAny(u, " \t\n"):
				found("endpoint.urls."+strconv.Itoa(i), fmt.Sprintf("%q names no host", secret.URL(u)),
					"such as http://localhost:8000")
			case !validHost(rest):
				found("endpoint.urls."+strconv.Itoa(i), fmt.Sprintf("%q is not an address: its host is incomplete",
					secret.URL(u)), "an IPv6 address stands in brackets, such as http://[::1]:8000")
			case !validPort(u):
				found("endpoint.urls."+strconv.Itoa(i), fmt.Sprintf("the port of %q is not between 1 and 65535",
					secret.URL(u)), "")
			}
		}
	}},
	{name: "weights of models", of: "models", body: func(b *Benchmark, found blame) {
		sum, without := 0.0, -1
		for i, m := range b.Models.Items {
			if m.Weight == nil {
				without = i
				continue
			}
			sum += *m.Weight
		}
		switch {
		case b.Models.Strategy == "weighted" && without >= 0:
			found("models.items."+strconv.Itoa(without), "strategy: weighted needs a weight for every model",
				"add weight")
		case b.Models.Strategy == "weighted" && math.Abs(sum-1) > 0.01:
			found("models.items", fmt.Sprintf("the weights make %g, not 1", math.Round(sum*1e6)/1e6), "")
		}
	}},
	{name: "data set names differ", of: "datasets", body: func(b *Benchmark, found blame) {
		seen := map[string]bool{}
		for i, d := range b.Datasets {
			if seen[d.Name] {
				found("datasets."+strconv.Itoa(i)+".name", fmt.Sprintf("%q is the name of another data set as well",
					d.Name), "")
			}
			seen[d.Name] = true
		}
	}},
}

// namedShape is a distribution by its path below the data set.
type namedShape struct {
	name  string
	shape *Shape
}

// shapes are the distributions of a data set; nil ones are not given.
func (d *Dataset) shapes() []namedShape {
	out := []namedShape{
		{"prompts.isl", d.Prompts.ISL},
		{"prompts.osl", d.Prompts.OSL},
		{"turns", d.Turns},
		{"turn_delay", d.TurnDelay},
	}
	for i := range d.Prompts.Pairs {
		at := fmt.Sprintf("prompts.sequence_distribution.%d.", i)
		out = append(out, namedShape{at + "isl", &d.Prompts.Pairs[i].ISL},
			namedShape{at + "osl", &d.Prompts.Pairs[i].OSL})
	}
	if r := d.Rankings; r != nil {
		out = append(out, namedShape{"rankings.passages", r.Passages},
			namedShape{"rankings.passage_tokens", r.PassageTokens}, namedShape{"rankings.query_tokens", r.QueryTokens})
	}
	if m := d.Images; m != nil {
		out = append(out, namedShape{"images.width", m.Width}, namedShape{"images.height", m.Height})
	}
	if m := d.Audio; m != nil {
		out = append(out, namedShape{"audio.length", m.Length})
	}
	return out
}

// unsaid is the path of a distribution at path, or of one that it mixes, whose
// values nothing tells; "" without one.
func (s *Shape) unsaid(path string) string {
	if s == nil {
		return ""
	}
	for i, p := range s.Peaks {
		if at := p.unsaid(fmt.Sprintf("%s.peaks.%d", path, i)); at != "" {
			return at
		}
	}
	if s.Mean == nil && s.Value == nil && s.Median == nil && s.P50 == nil && len(s.Peaks)+len(s.Points) == 0 {
		return path
	}
	return ""
}

// unread is the path of a value of a distribution at path, or of one that it mixes,
// that its shape does not read, with the key that names the shape; "" without one.
func (s *Shape) unread(path string) (at, shape string) {
	if s == nil {
		return "", ""
	}
	for i := range s.Peaks {
		if at, shape := s.Peaks[i].unread(fmt.Sprintf("%s.peaks.%d.distribution", path, i)); at != "" {
			return at, shape
		}
	}
	given := []shapeKey{
		{"peaks", len(s.Peaks) > 0, ""},
		{"points", len(s.Points) > 0, ""},
		{"p50", s.P50 != nil, "p99"},
		{"p99", s.P99 != nil, "p50"},
		{"median", s.Median != nil, "mean"},
		{"stddev", s.StdDev != nil && (*s.StdDev != 0 || s.Value == nil), "mean"},
		{"value", s.Value != nil, ""},
		{"mean", s.Mean != nil, ""},
	}
	first := slices.IndexFunc(given, func(k shapeKey) bool { return k.there })
	if first < 0 {
		return "", ""
	}
	for _, g := range given[first+1:] {
		if g.there && g.key != given[first].reads && !(g.key == "stddev" && *s.StdDev == 0) {
			return source.Join(path, g.key), given[first].key
		}
	}
	return "", ""
}

// shapeKey is a key of a distribution, in the order in which they name its shape.
type shapeKey struct {
	key   string
	there bool
	reads string // the key that the shape reads beside it
}

// Typical is about the middle of a distribution: what a rule of thumb
// compares with.
func (s *Shape) Typical() float64 {
	if s == nil {
		return 0
	}
	for _, v := range []*float64{s.Mean, s.Value, s.Median, s.P50} {
		if v != nil {
			return *v
		}
	}
	if len(s.Points)+len(s.Peaks) > 0 {
		return 2 // several values: the generator decides
	}
	return 0
}

// Most is about the largest value of a distribution.
func (s *Shape) Most() float64 {
	if s == nil {
		return 0
	}
	most := s.Typical()
	switch {
	case len(s.Points)+len(s.Peaks) > 0:
		most = 0
		for _, p := range s.Points {
			most = max(most, p.Value)
		}
		for i := range s.Peaks {
			most = max(most, s.Peaks[i].Most())
		}
	case s.P99 != nil:
		most = *s.P99
	case s.StdDev != nil:
		most += *s.StdDev
	case s.Median != nil && *s.Median < most:
		most += most - *s.Median
	}
	if s.Max != nil {
		most = min(most, *s.Max)
	}
	return most
}

// validPort tells whether the port of a URL, if it has one, is one.
// validHost tells whether what follows the scheme begins with a host that has all of its
// brackets, and colons in them only.
func validHost(rest string) bool {
	host, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
	host, _, _ = strings.Cut(host, "?")
	host = host[strings.LastIndex(host, "@")+1:]
	if inside, ok := strings.CutPrefix(host, "["); ok {
		inside, after, closed := strings.Cut(inside, "]")
		return closed && inside != "" && (after == "" || after[0] == ':')
	}
	return strings.Count(host, ":") < 2 && !strings.ContainsAny(host, "[]")
}

func validPort(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Port() == "" {
		return err == nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// mostSlots is how many requests may be under way at once, far above what connections
// to any number of servers allow.
const mostSlots = 1 << 20
