package sim

import (
	"encoding/json"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// The p99 from the intended time is one number: that of the run's table is the one in
// the note below it, in the JSON document and in a comparison. Requests wait for a cap,
// so that it is another one over the whole run than over its steady window.
func TestFromIntendedIsOneNumber(t *testing.T) {
	t.Parallel()
	o := design{
		cells: []string{"ttft=60ms&itl=5ms&cv=0.4"}, trials: 1, requests: 400,
		phase: "type: poisson, rate: 50, concurrency: 4",
	}.run(t)
	key := decide.Key{Tag: metrics.RequestLatencyFromIntended, Stat: "p99"}
	cell := &o.Results.Cells[0]
	shown, ok := cell.Headline().Get(key)
	whole, _ := cell.Full.Get(key)
	if !ok || cell.Headline().Window() != decide.Steady || shown.Mean == whole.Mean {
		t.Fatalf("%v over the %s window, %v over all: want two numbers", shown.Mean, cell.Headline().Window(),
			whole.Mean)
	}
	text := words.Millis(shown.Mean)
	digits, _, _ := strings.Cut(text, " ")

	said := ""
	for _, n := range o.Reports[o.Outcomes[0].Run.ID].Notices {
		said += n.Text + "\n"
	}
	if !strings.Contains(said, "\nlatency p99 is ") || !strings.Contains(said, " and "+text+" from schedule") {
		t.Errorf("the notes do not say %s:\n%s", text, said)
	}

	r := report.Report{
		Plan: o.Plan, Results: o.Results, Full: &o.Outcomes[0].Summaries[0],
		Steady: &o.Outcomes[0].Summaries[1],
	}
	var screen strings.Builder
	if err := r.WriteConsole(&screen); err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(screen.String(), "Latency from schedule")
	if row, _, _ = strings.Cut(row, "\n"); !strings.Contains(row, " "+digits+" ms") {
		t.Errorf("the table has another number than %s: %s", text, row)
	}
	var doc struct {
		Cells []struct {
			Window  string
			Metrics map[string]map[string]struct{ Mean float64 }
		}
	}
	if b, err := json.Marshal(r.Doc(0, false)); err != nil || json.Unmarshal(b, &doc) != nil {
		t.Fatal(err)
	}
	if got := doc.Cells[0]; got.Window != decide.Steady || got.Metrics[key.Tag][key.Stat].Mean != shown.Mean {
		t.Errorf("the JSON document has %v over the %s window, want %v", got.Metrics[key.Tag][key.Stat].Mean,
			got.Window, shown.Mean)
	}
	arm := decide.Arm{Name: "a", Cells: []decide.ArmCell{{
		Label: "one", Judged: sweep.Percentile(400),
		Runs: o.Outcomes,
	}}}
	c, err := decide.Compare(arm, arm, decide.Terms{Primary: []decide.Key{key}})
	if err != nil || c.Rows[0].Base != shown.Mean {
		t.Errorf("a comparison (%v) has %v, want %v", err, c.Rows[0].Base, shown.Mean)
	}
}
