package sim

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/quick"
	"aiperf.dev/aiperf/sweep/search"
)

// The two looks and the search of aiperf quick, at servers whose limit is known: what is
// said of the number of users is right, the search fits into what is left of the budget,
// and its experiment, carried out again, finds a bracket that overlaps.
func TestQuick(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, words string
		limit       float64 // users of which 95 % start within 500 ms and 50 ms a token
		where       []string
		budget      time.Duration
		says        string
	}{
		{name: "twelve slots", words: "ttft=100ms&itl=10ms&workers=12", limit: 12, where: []string{"time_to_first_token < 101"}, budget: time.Minute, says: "The built-in server serves 12 users at once within the limits; 13 are too many."},
		{name: "two slots", words: "ttft=40ms&itl=5ms&workers=2", limit: 2, where: []string{"time_to_first_token < 41"}, budget: time.Minute, says: "serves 2 users at once within the limits; 3 are too many."},
		{name: "forty slots", words: "ttft=100ms&itl=10ms&workers=40&cv=0.05", limit: 40, where: []string{"time_to_first_token < 130"}, budget: 2 * time.Minute, says: "at once"},
		{name: "slow, without a limit", words: "ttft=200ms&itl=20ms", limit: 512, budget: 30 * time.Second, says: "serves at least 512 users at once within the limits; more were not tried."},
		{name: "too slow at once", words: "ttft=400ms&itl=5ms", where: []string{"time_to_first_token < 300"}, budget: time.Minute, says: "does not serve a single user within the limits."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := &quick.Ask{
				URL: "mock:?" + c.words, Model: "demo", Type: "chat", Streams: true,
				Text: true, Where: c.where, Budget: c.budget,
			}
			s, spent := server{}, time.Duration(0)
			random := int64(42)
			carry := func(text []byte) *runner.Result {
				res := s.find(t, string(text), scratch(t), false, nil, schema.Assign("random_seed", random, schema.Origin{}))
				for _, o := range res.Outcomes {
					spent += o.Took
				}
				return res
			}
			first := quick.LooksOf(carry(a.First()).Results)[0]
			l := a.Fit(first)
			levels := quick.LooksOf(carry(a.Levels(first, l)).Results)
			if len(levels) != len(quick.Levels()) {
				t.Fatalf("%+v", levels)
			}
			chosen := a.Search(first, levels, l, a.Budget-spent)
			res := carry(chosen.Text)
			if spent > a.Budget {
				t.Errorf("%s of a budget of %s", spent, a.Budget)
			}
			holds := func(x *search.Answer) bool {
				return (x.Holds == nil || x.Holds.Load <= c.limit) && (x.Fails == nil || x.Fails.Load > c.limit)
			}
			if !holds(res.Search) {
				t.Errorf("limit %g: %+v", c.limit, res.Search)
			}
			r := res.Report()
			var b bytes.Buffer
			what := report.Quick{
				Idle: levels[0], File: filepath.Join("x", "quick.cue"),
				Chosen: c.where == nil,
			}
			if err := r.WriteQuick(&b, what); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				c.says, "When nothing else runs, the first token takes ",
				"How sure: the measurement is ", "repeat   aiperf run x/quick.cue\n",
			} {
				if !strings.Contains(strings.Join(strings.Fields(b.String()), " ")+"\n",
					strings.Join(strings.Fields(want), " ")) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
			rowsAgree(t, r, what)
			said := strings.Join(strings.Fields(b.String()), " ")
			if res.Search.Holds != nil && !atTheAnswer.MatchString(said) || !strings.Contains(said, " requests in all, each with ") {
				t.Errorf("no p99, no errors or no count of requests:\n%s", b.String())
			}
			random = 11
			again := carry(chosen.Text).Search
			if !holds(again) { // both hold the limit: they overlap
				t.Errorf("again, limit %g: %+v", c.limit, again)
			}
		})
	}
}

// The server's prefix cache knows no prompt of an earlier execution, neither in the looks of a second quick nor
// where its file is carried out again. With one seed for all of them it does, which the check says.
func TestQuickRepeated(t *testing.T) {
	t.Parallel()
	cached := func(set ...schema.Assignment) (found []string) {
		s := server{lives: &Worlds{}}
		for execution := range 2 {
			a := &quick.Ask{
				URL: "mock:?ttft=10ms&itl=5ms&prefill=0.1ms&cache=1000000&workers=8", Model: "demo", Type: "chat",
				Streams: true, Text: true, Budget: quick.Least, Seed: int64(execution),
			}
			first := quick.Look{OK: 5, First: 36, Gap: 5, Latency: 350, Rate: 2.8, Tokens: 64}
			l := quick.Lengths{ISL: 256, OSL: 8}
			levels := []quick.Look{
				{Users: 1, Good: 1, OK: 9, Rate: 14}, {Users: 4, Good: 1, OK: 40, Rate: 56}, {Users: 16, OK: 100, Rate: 100},
			}
			for name, text := range map[string][]byte{
				"first": a.First(), "levels": a.Levels(first, l), "search": a.Search(first, levels, l, 9*time.Second).Text,
			} {
				res := s.find(t, string(text), scratch(t), false, nil, set...)
				for _, rep := range res.Reports {
					for _, f := range rep.Findings {
						if f.Check == "prefix_cache" && f.Verdict != verdict.Valid {
							found = append(found, fmt.Sprintf("%s %d: %s", name, execution, f.Detail))
						}
					}
				}
			}
		}
		return found
	}
	if found := cached(); len(found) > 0 {
		t.Errorf("prompts came again: %q", found)
	}
	seed := schema.Assign("random_seed", int64(42), schema.Origin{})
	if found := cached(seed); len(found) == 0 {
		t.Error("the same prompts are not said to come again")
	}
}

// atTheAnswer are the p99 of the latency that limits, and the errors, at the load of the answer.
var atTheAnswer = regexp.MustCompile(`\(medians; (TTFT|ITL) p99 [0-9.,]+ m?s(, uncertain)?\);.*; no errors in [0-9,]+ requests\.`)

// row is a load in the table of a search: its number, requests per second and their mean in ms.
var row = regexp.MustCompile(`(?m)^ +([0-9]+) +[0-9]+ +\S+ +\S+ to \S+ +([0-9.,]+|–)(?: +([0-9.,]+|–)(?: +[0-9,]+)?)? +[a-z]+$`)

// rowsAgree holds the numbers of quick's screen against each other: at each load the rate times the mean latency
// is the number of users, and what the paragraph says of all of them is what the table says.
func rowsAgree(t *testing.T, r *report.Report, what report.Quick) {
	t.Helper()
	var b bytes.Buffer
	r.Width = 200
	if err := r.WriteQuick(&b, what); err != nil {
		t.Fatal(err)
	}
	rows := row.FindAllStringSubmatch(b.String(), -1)
	if len(rows) != len(r.Search.Loads) {
		t.Fatalf("%d rows of %d loads:\n%s", len(rows), len(r.Search.Loads), b.String())
	}
	for _, m := range rows {
		if m[3] == "" || m[3] == "–" { // its users had too few answers, or too many of these were cut off
			continue
		}
		users, rate, latency := plain(t, m[1]), plain(t, m[2]), plain(t, m[3])
		if flight := rate * latency / 1e3; math.Abs(flight/users-1) > 0.05 {
			t.Errorf("%s users: %s req/s of %s ms are %.4g in flight:\n%s", m[1], m[2], m[3], flight, b.String())
		}
		if r.Search.Holds == nil || r.Search.Holds.Load != users {
			continue
		}
		i := slices.IndexFunc(r.Results.Cells, func(c decide.CellResult) bool { return c.Cell.Load() == users })
		length, _ := r.Results.Cells[i].Headline().Get(decide.Key{Tag: metrics.OutputSequenceLength, Stat: "avg"})
		said := strings.Join(strings.Fields(b.String()), " ")
		if all := parse(t, said, "together they get ", " tokens per second"); math.Abs(all.value/(rate*length.Mean)-1) > 0.02 {
			t.Errorf("%v tokens per second are not %s req/s of %.4g tokens:\n%s", all.value, m[2], length.Mean, b.String())
		}
	}
}

// plain is a number without the commas between its thousands.
func plain(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
