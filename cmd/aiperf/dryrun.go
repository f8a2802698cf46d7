package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// expandedDoc is the resolved document of an experiment in AIPerf's shape.
type expandedDoc struct {
	kind       string         // as an experiment says it
	SweepType  string         `json:"sweep_type"`
	Variations []variationDoc `json:"variations"`
	Plan       planDoc        `json:"plan"`
}

type variationDoc struct {
	Index     int             `json:"index"`
	DirName   string          `json:"dir_name"`
	Label     string          `json:"label"`
	Values    map[string]any  `json:"values"`
	Benchmark json.RawMessage `json:"benchmark,omitempty"`
}

type planDoc struct {
	Trials                  int     `json:"trials"`
	CooldownSeconds         float64 `json:"cooldown_seconds"`
	ConfidenceLevel         float64 `json:"confidence_level"`
	RandomSeed              *int64  `json:"random_seed"`
	SetConsistentSeed       bool    `json:"set_consistent_seed"`
	DisableWarmupAfterFirst bool    `json:"disable_warmup_after_first"`
	VariationSeeds          []int64 `json:"variation_seeds"`
	NoSweepTable            bool    `json:"no_sweep_table"`
}

// dryRun prints what would be run. Fields that are declared and not built yet
// are shown like all others; only running them is refused. Data in a format that
// is not built is not read.
func (a *app) dryRun(file string, doc *schema.Document, plan *sweep.Plan, asJSON bool) error {
	missing := doc.Unsupported()
	for _, e := range missing {
		a.warn(e.Error())
	}
	if asJSON {
		return a.writeDoc(expanded(plan, nil, true))
	}
	b := plan.Bound(nil)
	if len(missing) == 0 {
		var err error
		if b, err = bound(file, plan); err != nil {
			return asUsage(err)
		}
	}
	printPlan(a.Out, plan, b)
	return nil
}

// expanded is the document of a plan; only limits it to one variation, full
// adds the bodies.
func expanded(plan *sweep.Plan, only *int, full bool) expandedDoc {
	d := expandedDoc{kind: plan.Type, SweepType: sweepClass(plan), Variations: []variationDoc{}, Plan: planDoc{
		Trials: plan.Trials, CooldownSeconds: plan.MultiRun.CooldownSeconds, ConfidenceLevel: plan.MultiRun.ConfidenceLevel,
		RandomSeed: plan.Experiment.RandomSeed, SetConsistentSeed: plan.MultiRun.SetConsistentSeed,
		DisableWarmupAfterFirst: plan.MultiRun.DisableWarmupAfterFirst, NoSweepTable: plan.Experiment.NoSweepTable,
	}}
	for _, c := range plan.Cells {
		d.Plan.VariationSeeds = append(d.Plan.VariationSeeds, c.Seed)
		if only != nil && *only != c.Index {
			continue
		}
		v := variationDoc{Index: c.Index, DirName: c.DirName, Label: c.Label, Values: c.Values}
		if v.Values == nil {
			v.Values = map[string]any{}
		}
		if full {
			v.Benchmark = withInfinity(schema.AsAIPerf(c.Resolved.JSON))
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

// printVariations is the document for a person.
func (a *app) printVariations(d expandedDoc) error {
	fmt.Fprintf(a.Out, "%s: %s\n", d.kind, words.Count(len(d.Variations), "variation"))
	for _, v := range d.Variations {
		fmt.Fprintf(a.Out, "%4d  %-30s  %s\n", v.Index, v.DirName, v.Label)
		if v.Benchmark == nil {
			continue
		}
		var b bytes.Buffer
		if err := json.Indent(&b, v.Benchmark, "      ", "  "); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "      %s\n", b.String())
	}
	return nil
}
