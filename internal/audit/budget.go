package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/importer"
)

// FileName is the file that an audit is written to, and that an imported result carries it in.
const FileName = importer.AuditName

// whichFile is the hint where another one is named.
const whichFile = "name the " + FileName + " that aiperf audit CLIENT -o DIR leaves in DIR"

// Audit is what FileName holds.
type Audit struct {
	Client  string    `json:"client"`
	Version string    `json:"version,omitempty"`
	Budget  []Error   `json:"error_budget"`
	Results []*Result `json:"results"`
}

// Error is the most by which a client's figure was off in an audit, over all scenarios.
type Error struct {
	Metric   string  `json:"metric"`
	Stat     string  `json:"stat"`
	MS       float64 `json:"ms"`       // what it said above what was
	Share    float64 `json:"share"`    // of what was
	Scenario string  `json:"scenario"` // in which it was that much
}

// names are the times of an audit as its lines call them.
var names = map[string]string{
	metrics.TimeToFirstToken: "TTFT", metrics.InterTokenLatency: "ITL", metrics.RequestLatency: "latency",
}

// New is the audit of a client.
func New(client string, results []*Result) *Audit {
	a := &Audit{Client: client, Budget: BudgetOf(results), Results: results}
	for _, r := range results {
		a.Version = cmp.Or(a.Version, r.Version)
	}
	return a
}

// BudgetOf is the largest error of each time, in the order of metrics.
func BudgetOf(results []*Result) (out []Error) {
	for _, metric := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency} {
		for _, stat := range []string{"avg", "p50", "p90", "p99"} {
			var most *Error
			for _, res := range results {
				for i := range res.Lines {
					l := &res.Lines[i]
					if d := l.Error(); l.Quantity == names[metric]+" "+stat && !math.IsNaN(d) &&
						(most == nil || math.Abs(d) > math.Abs(most.MS)) {
						most = &Error{metric, stat, d, d / *l.Is, res.Scenario}
					}
				}
			}
			if most != nil {
				out = append(out, *most)
			}
		}
	}
	return out
}

// largest bounds a file that is read, in bytes.
const largest = 16 << 20

// Read reads a file that an audit was written to.
func Read(path string) (*Audit, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.New(err.Error(), whichFile)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return nil, err
	}
	a, err := parse(b)
	if err != nil {
		return nil, &diag.Error{Place: path, Message: err.Error(), Hint: whichFile}
	}
	return a, nil
}

// parse reads an audit. Members that this program does not know are left out.
func parse(b []byte) (*Audit, error) {
	if len(b) > largest {
		return nil, fmt.Errorf("larger than %d MiB", largest>>20)
	}
	var a Audit
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("not an audit: %w", err)
	}
	if a.Client == "" || len(a.Budget) == 0 {
		return nil, fmt.Errorf("not an audit: it names no client, or no errors of its times")
	}
	for _, e := range a.Budget {
		if names[e.Metric] == "" || !metrics.Finite(e.MS) || !metrics.Finite(e.Share) {
			return nil, fmt.Errorf("not an audit: error of %q", e.Metric)
		}
	}
	return &a, nil
}

// Of reports whether the audit is of a client in a version; one that is not known fits any.
func (a *Audit) Of(client, version string) bool {
	return a.Client == client && (version == "" || a.Version == "" || a.Version == version)
}

// Error is what the client may be off by; false where the audit does not say.
func (a *Audit) Error(metric, stat string) (Error, bool) {
	i := slices.IndexFunc(a.Budget, func(e Error) bool { return e.Metric == metric && e.Stat == stat })
	if i < 0 {
		return Error{}, false
	}
	return a.Budget[i], true
}

// String says the error in words: "TTFT p50 by guidellm 0.8.1 read 2.9 ms (15 %) high in the
// scenario single of its audit".
func (a *Audit) String(e Error) string {
	way := "high"
	if e.MS < 0 {
		way = "low"
	}
	return fmt.Sprintf("%s %s by %s read up to %.3g ms (%.2g %%) %s in the scenario %s of its audit", names[e.Metric], e.Stat,
		strings.TrimSpace(a.Client+" "+a.Version), math.Abs(e.MS), 100*math.Abs(e.Share), way, e.Scenario)
}
