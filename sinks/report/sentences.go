package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// This file is the list of sentences: each is made by one function, from outcomes, and the
// screen, summary.md, the page, JUnit and the manifest take it from here. Those about the
// best cell are in best.go, about limits and gates in limits.go and gates.go, those of a
// comparison in headline.go and changes.go, those of one run in single.go.

// Sentences are what the plan showed, the answer first.
func (r *Report) Sentences() (out []string) {
	if r.Results == nil {
		return nil
	}
	if s := r.Plan.Experiment.Raised; s != "" {
		defer func() { out = append(out, s) }()
	}
	if r.Search != nil {
		out = r.searchSentences()
		if s := r.WantedSentence(); s != "" {
			out = append(out, s)
		}
		return append(out, r.rulesSentences()...)
	}
	if r.Adaptive != nil {
		return append(r.adaptiveSentences(), r.rulesSentences()...)
	}
	for _, c := range r.Results.Comparisons { // what was asked is answered first
		out = append(out, Comparison{Comparison: c}.Headline()+r.missedGates())
		if s := (Comparison{Comparison: c}).Changes(); s != "" {
			out = append(out, s)
		}
	}
	compared := len(out) > 0
	answers, alarming := r.answersSentences()
	if alarming && !compared {
		out, answers = answers, nil
	}
	out = append(out, r.BestSentences()...)
	if s := r.beside(); s != "" && !compared {
		out = append(out, s)
	}
	if s := r.Results.StoppedEarly(); s != "" {
		out = append(out, s)
	}
	if s := r.LimitsSentence(); s != "" {
		out = append(out, "limits: "+s)
	}
	if s := r.GatesSentence(); s != "" {
		out = append(out, "gates: "+s)
	}
	out = append(out, r.rulesSentences()...)
	if s := r.WantedSentence(); s != "" {
		out = append(out, s)
	}
	out = append(out, answers...)
	if r.Limit != "" {
		out = append(out, r.Limit)
	}
	return append(out, r.bestReasons()...)
}

// some names at most so many of the names that are not empty.
func some(names []string, most int) string {
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return words.And(names)
}

// spokenAxis is an axis in a sentence.
func spokenAxis(name string) string {
	switch name {
	case "isl":
		return "input length"
	case "osl":
		return "output length"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// about is what was measured: "demo at mock: · chat, streaming · concurrency 8 ·
// 550 tokens in, 16 out".
func (r *Report) about() string {
	if len(r.Plan.Cells) == 0 || r.Plan.Cells[0].Resolved == nil {
		return ""
	}
	b := &r.Plan.Cells[0].Resolved.Benchmark
	system := systemOf(b)
	if r.folded > 0 {
		system = words.Clip(system, 40)
	}
	parts := []string{system}
	kind := b.Endpoint.Type
	if b.Endpoint.Streaming {
		kind += ", streaming"
	}
	parts = append(parts, kind)
	for _, a := range sweep.KnownAxes() {
		if !a.Load {
			continue
		}
		if v := a.Of(b); v != nil {
			parts = append(parts, strings.ReplaceAll(a.Name, "_", " ")+" "+fmt.Sprint(v))
		}
	}
	for i := range b.Phases {
		if s := b.Phases[i].AdaptiveScale.Range(); s != "" {
			parts = append(parts, s)
		}
	}
	if s := r.lengths(); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// systemOf is the model and where it is.
func systemOf(b *schema.Benchmark) string {
	text := func(axis string) string {
		s, _ := sweep.AxisNamed(axis).Of(b).(string)
		return words.Clip(s, 60)
	}
	model, server := text("model"), text("endpoint")
	if e := &b.Endpoint; e.Label == "" && len(e.URLs) == 1 && strings.HasPrefix(e.URLs[0], "mock:") {
		// its options are what it does; those of other servers may be secret
		server = words.Clip(e.Hide.Text(e.URLs[0]), 60)
	}
	if model == "" || server == "" {
		return cmp.Or(model, server)
	}
	return model + " at " + server
}
