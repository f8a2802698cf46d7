package rules

import (
	"math"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// head begins a file of rules in tests.
const head = "schema: aiperf.rules/1\nname: mine\nversion: 1\nsource: here\n"

// The built-in sets are read, with each of their cases, and each rule says what it asks.
func TestBuiltInSets(t *testing.T) {
	t.Parallel()
	if len(Names()) < 4 {
		t.Fatalf("only %v", Names())
	}
	for _, name := range Names() {
		s, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.Title == "" || len(s.Rules) < 4 {
			t.Errorf("%s: name %q, title %q, %d rules", name, s.Name, s.Title, len(s.Rules))
		}
		for _, r := range s.Rules {
			if r.Asks() == "" || r.Says == "" || strings.Contains(strings.ToLower(r.Says), "compliant") {
				t.Errorf("%s: %s asks %q, says %q", name, r.ID, r.Asks(), r.Says)
			}
		}
		for _, c := range s.CaseNames() {
			with, err := Find(name+":"+c, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range with.Rules {
				if r.unset() != "" {
					t.Errorf("%s:%s gives $%s no value", name, c, r.unset())
				}
			}
		}
	}
}

// A mistake is one line with its place and what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "own.yaml: empty"},
		{"[1", "own.yaml:1: no YAML"},
		{"a: 1\n---\nb: 2\n", "own.yaml: more than one document"},
		{"- 1\n", "own.yaml:1:1: a set of rules: expected names with values, got a list"},
		{"schema: aiperf.rules/9\n", "own.yaml:1:9: schema: expected aiperf.rules/1"},
		{head, "own.yaml:1:1: a set of rules needs rules"},
		{head + "rules: []\n", "own.yaml:5:8: rules: none"},
		{head + "rulez: []\n", "own.yaml:5:1: a set of rules has no rulez | did you mean rules?"},
		{head + "name: twice\nrules: []\n", "own.yaml:5:1: a set of rules: name stands here twice"},
		{head + "rules:\n  - duration\n", "own.yaml:6:5: rules: expected names with values, got \"duration\""},
		{head + "rules:\n  - {at_least: 3 s}\n", "own.yaml:6:5: a rule needs rule, its kind"},
		{head + "rules:\n  - {rule: durations, at_least: 3 s}\n", "own.yaml:6:12: rule: no kind is called durations | did you mean duration?"},
		{head + "rules:\n  - {rule: duration}\n", "own.yaml:6:5: rule duration needs at_least"},
		{head + "rules:\n  - {rule: duration, at_least: 3}\n", "own.yaml:6:32: at_least: 3 has no unit | write 600 s"},
		{head + "rules:\n  - {rule: duration, at_least: long}\n", "own.yaml:6:32: at_least: expected a number such as 600 s, got \"long\""},
		{head + "rules:\n  - {rule: duration, at_least: 3 s, until: noon}\n", "own.yaml:6:44: until: expected sent or answered"},
		{head + "rules:\n  - {rule: requests, at_least: 2.5}\n", "own.yaml:6:32: at_least: expected a whole number"},
		{head + "rules:\n  - {rule: requests, at_least: 3 s}\n", "own.yaml:6:32: at_least: 3 s is not in a plain number"},
		{head + "rules:\n  - {rule: load, is: poison}\n", "own.yaml:6:22: rule load knows no poison | did you mean poisson?"},
		{head + "rules:\n  - {rule: load, is: []}\n", "own.yaml:6:22: is: nothing"},
		{head + "rules:\n  - {rule: metric, metric: ttft, at_most: 3 ms}\n", "own.yaml:6:28: metric: no metric is called ttft | did you mean time_to_first_token?"},
		{head + "rules:\n  - {rule: metric, metric: time_to_first_token}\n", "own.yaml:6:5: rule metric needs at_least or at_most"},
		{head + "rules:\n  - {rule: metric, metric: time_to_first_token, stat: p42, at_most: 3 ms}\n", "own.yaml:6:5: stat: time_to_first_token has no p42"},
		{head + "rules:\n  - {rule: early_stopping, metric: error_rate, share: 0.9, at_most: 3}\n", "own.yaml:6:36: metric: early_stopping counts no requests by error_rate"},
		{head + "rules:\n  - {rule: early_stopping, metric: slos, share: 101 %}\n", "own.yaml:6:49: share: expected a share between 0 and 0.99999"},
		{head + "rules:\n  - {rule: early_stopping, metric: request_latency, share: 0.9}\n", "own.yaml:6:5: rule early_stopping needs at_most"},
		{head + "rules:\n  - {rule: early_stopping, metric: slos, share: 0.9, tolerance: 0.95}\n", "own.yaml:6:5: tolerance: 0.95 is not below share"},
		{head + "rules:\n  - {rule: trials, at_least: 3}\n  - {rule: trials, at_least: 4}\n", "own.yaml:7:5: two rules are called trials"},
		{head + "rules:\n  - {rule: trials, at_least: $n}\ncases: {a: {m: 3}}\n", "own.yaml:7:13: case a has no m"},
		{head + "rules:\n  - {rule: trials, at_least: $n}\ncases: {a: {n: x}}\n", "own.yaml:7:16: n: expected a number"},
		{head + "rules:\n  - &x {rule: trials, at_least: 3}\n  - *x\n", "own.yaml:7:5: rules: expected a value, got an alias"},
		{head + "rules:\n  - {rule: setting, path: endpoint.streaming, is: [true]}\n", "own.yaml:6:51: is: expected a number, a word, true or false, got a list"},
	} {
		_, err := Parse("own.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%q is read", c.text)
			continue
		}
		d := diag.Of(err)
		got := d.Place + ": " + d.Message
		if d.Hint != "" {
			got += " | " + d.Hint
		}
		want, hint, both := strings.Cut(c.want, " | ")
		if !strings.HasPrefix(got, want) || both && d.Hint != hint || strings.Contains(got, "\n") {
			t.Errorf("%q\n got %s\nwant %s", c.text, got, c.want)
		}
	}
	for word, want := range map[string]string{
		"mlperf-servr": "did you mean mlperf-server?", "mlperf-server:llama2": "did you mean mlperf-server:llama2-70b?",
		"sla-p99:x": "write sla-p99", "/nowhere/x.yaml": "built in are ",
	} {
		if _, err := Find(word, nil); err == nil || !strings.HasPrefix(diag.Of(err).Hint, want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// measured is a cell with one run of 1,000 requests in 20 s.
func measured(change func(*Cell, *Run)) []Cell {
	r := Run{
		Sent: 20, Answered: 21, OK: 1000, Verdict: "VALID", Counts: map[Over]Tally{},
		Figure: func(tag, stat string) float64 {
			return map[string]float64{"error_rate avg": 0.02, "request_latency p99": 400}[tag+" "+stat]
		},
	}
	c := Cell{
		Label: "base", Load: "poisson", Trials: 1, Setting: func(path string) (any, bool) {
			v, ok := map[string]any{"endpoint.streaming": true, "random_seed": 42.0}[path]
			return v, ok
		},
		Lacks: func(tag string) (string, string) {
			if tag == "time_to_first_token" {
				return tag + " needs a streaming endpoint", "--streaming"
			}
			return "", ""
		},
	}
	if change != nil {
		change(&c, &r)
	}
	c.Runs = []Run{r}
	return []Cell{c}
}

// Each kind of rule, met, not met and not to be checked.
func TestJudge(t *testing.T) {
	t.Parallel()
	latency := Over{"request_latency", 500}
	count := func(n, over int) func(*Cell, *Run) {
		return func(_ *Cell, r *Run) { r.Counts[latency] = Tally{n, over} }
	}
	const early = "rule: early_stopping, metric: request_latency, share: 99 %, at_most: 500 ms"
	for _, c := range []struct {
		rule   string
		change func(*Cell, *Run)
		state  State
		found  string
		try    string
	}{
		{"rule: duration, at_least: 20 s", nil, Met, "20 s", ""},
		{"rule: duration, at_least: 1 min", nil, NotMet, "20 s", "--benchmark-duration 60"},
		{"rule: duration, at_least: 21 s, until: answered", nil, Met, "21 s", ""},
		{"rule: duration, at_least: 1 s", func(_ *Cell, r *Run) { r.Sent = math.NaN() }, NotChecked, "the times of its requests are not known", ""},
		{"rule: duration, at_least: 60 s", func(c *Cell, _ *Run) { c.Planned = true }, NotMet, "20 s planned", "--benchmark-duration 60"},
		{"rule: requests, at_least: 1000", nil, Met, "1,000", ""},
		{"rule: requests, at_least: 1001", nil, NotMet, "1,000", "--request-count 1001"},
		{"rule: requests, at_least: 9", func(c *Cell, r *Run) { c.Planned, r.OK = true, -1 }, NotChecked, "how many requests there are is not known before", "--request-count 9"},
		{"rule: trials, at_least: 2", nil, NotMet, "1", "--num-profile-runs 2"},
		{"rule: load, is: [gamma, poisson]", nil, Met, "poisson", ""},
		{"rule: load, is: offline", nil, NotMet, "poisson", "--concurrency and --request-count with the same number, and no --benchmark-duration"},
		{"rule: setting, path: benchmark.endpoint.streaming, is: true", nil, Met, "true", ""},
		{"rule: setting, path: random_seed, is: 43", nil, NotMet, "42", "--set benchmark.random_seed=43"},
		{"rule: setting, path: endpoint.typo, is: 1", nil, NotMet, "not set", "--set benchmark.endpoint.typo=1"},
		{"rule: metric, metric: error_rate, at_most: 2 %", nil, Met, "2 %", ""},
		{"rule: metric, metric: error_rate, at_most: 0.01", nil, NotMet, "2 %", ""},
		{"rule: metric, metric: request_latency, stat: p99, at_least: 401 ms", nil, NotMet, "400 ms", ""},
		{"rule: metric, metric: request_latency, stat: p99, at_least: 1 ms, at_most: 0.4 s", nil, Met, "400 ms", ""},
		{"rule: metric, metric: time_to_first_token, at_most: 1 s", nil, NotChecked, "time_to_first_token needs a streaming endpoint", "--streaming"},
		{"rule: verdict, is: VALID", nil, Met, "VALID", ""},
		{"rule: verdict, is: VALID", func(_ *Cell, r *Run) { r.Verdict = "DEGRADED" }, NotMet, "DEGRADED", "aiperf checks, which shows why"},
		{early, count(662, 1), Met, "1 of 662 requests over it, at most 1 may be", ""},
		{early, count(661, 1), NotMet, "1 of 661 requests over it, of so few at most 0 may be", "--request-count 850, if as many in a hundred are over it"},
		{early, count(100, 0), NotMet, "0 of 100 requests over it, at least 459 requests are needed", "--request-count 460"},
		{early, count(10_000, 100), NotMet, "100 of 10,000 requests over it, that is 1 %, and more requests do not help", "a lower load"},
		{early, nil, NotChecked, "no request has a value", ""},
		{early, func(c *Cell, r *Run) { c.Planned, r.OK = true, 400 }, NotMet, "400 requests planned, at least 459 are needed", "--request-count 460"},
		{early, func(c *Cell, _ *Run) { c.Planned = true }, NotChecked, "it depends on the answers", ""},
		{"rule: early_stopping, metric: slos, share: 0.99", nil, NotChecked, "the experiment states no limits for single requests", `--goodput "time_to_first_token:500"`},
	} {
		s, err := Parse("own.yaml", []byte(head+"rules:\n  - {"+c.rule+"}\n"))
		if err != nil {
			t.Error(err)
			continue
		}
		o := s.Judge(measured(c.change))[0]
		if o.State != c.state || o.Found != c.found || o.Try != c.try {
			t.Errorf("%s\n got %s, %q, try %q\nwant %s, %q, try %q", c.rule, o.State, o.Found, o.Try, c.state, c.found, c.try)
		}
	}
}

// Of several runs and cells the worst one decides, and it is named.
func TestTheWorstDecides(t *testing.T) {
	t.Parallel()
	s, err := Parse("own.yaml", []byte(head+"rules:\n  - {rule: requests, at_least: 500}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := measured(nil)[0], measured(nil)[0]
	a.Label, b.Label = "rate 1", "rate 2"
	b.Runs, b.Trials = append(b.Runs, b.Runs[0]), 2
	b.Runs[1].OK = 400
	o := s.Judge([]Cell{a, b})[0]
	if o.State != NotMet || o.At != "rate 2" || o.Found != "400 (trial 2 of 2)" || len(o.Cells) != 2 ||
		o.Cells[0].State != Met {
		t.Errorf("%+v", o)
	}
	j := s.Of([]Cell{a, b})
	if want := "meets 0 of the 1 rule of mine; 1 not met"; j.Said != want {
		t.Errorf("%q, want %q", j.Said, want)
	}
	if code := NewDocument([]Judged{j}).Exit(); code != diag.Missed {
		t.Errorf("exit %d", code)
	}
}

// One prompt again and again against different ones, in closed loops only.
func TestRepeatedPrompt(t *testing.T) {
	t.Parallel()
	s, err := Parse("own.yaml", []byte(head+"rules:\n  - {rule: repeated_prompt, at_most: 10 %}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cell := func(different int, rate float64, closed bool) Cell {
		sent := Prompts{Different: different, Rate: rate, Closed: closed}
		return measured(func(_ *Cell, r *Run) { r.Prompts = sent })[0]
	}
	for _, c := range []struct {
		cells []Cell
		state State
		found string
	}{
		{[]Cell{cell(1, 109, true), cell(2, 100, true)}, Met, "9 % faster, 109 against 100 requests/s"},
		{[]Cell{cell(1, 110.001, true), cell(2, 100, true)}, NotMet, "10.0 % faster, 110 against 100 requests/s"},
		{[]Cell{cell(1, 90, true), cell(2, 100, true)}, Met, "not faster, 90.0 against 100 requests/s"},
		{[]Cell{cell(1, 200, false), cell(2, 100, false)}, NotChecked, "no closed loop sends one prompt again and again beside one that sends different ones"},
		{[]Cell{cell(2, 200, true)}, NotChecked, "no closed loop sends one prompt again and again beside one that sends different ones"},
	} {
		if o := s.Judge(c.cells)[0]; o.State != c.state || o.Found != c.found {
			t.Errorf("got %s, %q, want %s, %q", o.State, o.Found, c.state, c.found)
		}
	}
}

// What was judged can be judged again from what it keeps.
func TestADocumentKeepsItsSets(t *testing.T) {
	t.Parallel()
	s, err := Find("mlperf-server:llama2-70b", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDocument([]Judged{s.Of(measured(nil))})
	again, err := d.Asked()
	if err != nil || len(again) != 1 || again[0].Spoken() != s.Spoken() ||
		!slices.EqualFunc(again[0].Rules, s.Rules, func(a, b Rule) bool { return a.Asks() == b.Asks() }) {
		t.Errorf("%v, %v", again, err)
	}
	if d.Brief()[0].Text != "" || d.Sets[0].Text == "" {
		t.Error("the brief form has no text, the file has")
	}
}

// Whatever a file holds, reading ends with a set or one line.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		b, err := files.ReadFile("sets/" + name + ending)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(head + "rules:\n  - {rule: duration, at_least: 1e309 s}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse("own.yaml", b)
		if err != nil {
			if strings.Contains(diag.Line(err), "\n") {
				t.Errorf("%q", diag.Line(err))
			}
			return
		}
		for _, c := range append(s.CaseNames(), "") {
			with, err := s.With(c)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(with.Judge(measured(nil))); n != len(s.Rules) {
				t.Errorf("%d outcomes of %d rules", n, len(s.Rules))
			}
		}
	})
}
