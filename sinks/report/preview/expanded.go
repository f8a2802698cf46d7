package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Expanded is the resolved document of an experiment in AIPerf's shape.
type Expanded struct {
	kind       string       // as an experiment says it
	SweepType  string       `json:"sweep_type"`
	Variations []Variation  `json:"variations"`
	Plan       expandedPlan `json:"plan"`
}

// Variation is one point of the sweep.
type Variation struct {
	Index     int             `json:"index"`
	DirName   string          `json:"dir_name"`
	Label     string          `json:"label"`
	Values    map[string]any  `json:"values"`
	Benchmark json.RawMessage `json:"benchmark,omitempty"`
}

type expandedPlan struct {
	Trials                  int     `json:"trials"`
	CooldownSeconds         float64 `json:"cooldown_seconds"`
	ConfidenceLevel         float64 `json:"confidence_level"`
	RandomSeed              *int64  `json:"random_seed"`
	SetConsistentSeed       bool    `json:"set_consistent_seed"`
	DisableWarmupAfterFirst bool    `json:"disable_warmup_after_first"`
	VariationSeeds          []int64 `json:"variation_seeds"`
	NoSweepTable            bool    `json:"no_sweep_table"`
}

// Expand is the document of a plan; only limits it to one variation, full
// adds the bodies.
func Expand(plan *sweep.Plan, only *int, full bool) Expanded {
	d := Expanded{kind: plan.Type, SweepType: sweepClass(plan), Variations: []Variation{}, Plan: expandedPlan{
		Trials: plan.Trials, CooldownSeconds: plan.MultiRun.CooldownSeconds,
		ConfidenceLevel: plan.MultiRun.ConfidenceLevel,
		RandomSeed:      plan.Experiment.RandomSeed, SetConsistentSeed: plan.MultiRun.SetConsistentSeed,
		DisableWarmupAfterFirst: plan.MultiRun.DisableWarmupAfterFirst, NoSweepTable: plan.Experiment.NoSweepTable,
	}}
	for _, c := range plan.Cells {
		d.Plan.VariationSeeds = append(d.Plan.VariationSeeds, c.Seed)
		if only != nil && *only != c.Index {
			continue
		}
		v := Variation{Index: c.Index, DirName: c.DirName, Label: c.Label, Values: c.Values}
		body := c.Resolved
		if plan.Adaptive != nil { // its points are not known yet: what they are laid over
			v = Variation{DirName: "base", Label: "base"}
			if base := plan.Base(); base != nil {
				body = base
			}
		}
		if v.Values == nil {
			v.Values = map[string]any{}
		}
		if full {
			v.Benchmark = withInfinity(body.AsAIPerf())
		}
		d.Variations = append(d.Variations, v)
	}
	return d
}

// sweepClass is AIPerf's name in the document for the kind of a sweep.
func sweepClass(plan *sweep.Plan) string {
	if k := plan.Kind(); k != nil {
		return k.Class
	}
	return plan.Type
}

// openEnded are the spans that may have no end.
var openEnded = regexp.MustCompile(`("(?:duration|grace_period|timeout)": ?)"inf"`)

// withInfinity writes a span without end as a number, as AIPerf does. Its
// Infinity is not JSON; 1e999 is, and readers that know infinity read it so.
func withInfinity(doc json.RawMessage) json.RawMessage {
	return openEnded.ReplaceAll(doc, []byte("${1}1e999"))
}

// Print writes the document for a person.
func (d *Expanded) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", d.kind, words.Count(len(d.Variations), "variation"))
	for _, v := range d.Variations {
		fmt.Fprintf(w, "%4d  %-30s  %s\n", v.Index, v.DirName, v.Label)
		if v.Benchmark == nil {
			continue
		}
		var b bytes.Buffer
		if err := json.Indent(&b, v.Benchmark, "      ", "  "); err != nil {
			return err
		}
		fmt.Fprintf(w, "      %s\n", b.String())
	}
	return nil
}
