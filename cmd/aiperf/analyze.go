package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks/genaiperf"
	"aiperf.dev/aiperf/sweep"
)

var analyzeCommand = command{
	name: "analyze", usage: "measure a sweep as GenAI-Perf's analyze does", minor: true,
	help: `aiperf analyze FLAGS takes the flags of genai-perf analyze, measures each value
of the sweep as aiperf profile does, and writes GenAI-Perf's table beside the
results: analyze_export_genai_perf.csv in the artifact directory.

  aiperf analyze -m demo -u localhost:8000 --endpoint-type chat --streaming \
    --sweep-type concurrency --sweep-range 1:16
  aiperf analyze -m m -u mock: --endpoint-type chat --sweep-list 2,5 --dry-run

--sweep-type is concurrency (the default), request_rate, input_sequence_length,
num_dataset_entries or batch_size. --sweep-range MIN:MAX doubles, MIN:MAX:STEP
adds; --sweep-list names the values. Long flags of aiperf profile can be added.
Prompts are made anew for each value. Rows are by falling request throughput; of
several trials each figure is the mean.`,
	flags: append(slices.Clone(profileCommand.flags),
		argv.Switch{Name: "sweep-type", Arg: "WHAT", Topic: "trials", Doc: "what is swept"},
		argv.Switch{Name: "sweep-range", Arg: "MIN:MAX[:STEP]", Topic: "trials", Doc: "values: doubled, or by a step"},
		argv.Switch{Name: "sweep-list", Arg: "V,V", Topic: "trials", Doc: "values"}),
	settings: true,
	often: []section{
		{"Sweep", []string{"sweep-type", "sweep-range", "sweep-list"}},
		{"Server", []string{"url", "model", "endpoint-type", "streaming"}},
		{"Results", []string{"artifact-dir", "dry-run", "resume"}},
	},
	raw: (*app).analyze,
}

// analyze turns GenAI-Perf's flags into those of profile, and measures.
func (a *app) analyze(c command, given []string) error {
	for _, absent := range compat.AbsentCommands() { // those of AIPerf's analyze
		if len(given) > 0 && absent.Name == "analyze "+given[0] {
			return absent.Refuse()
		}
	}
	own, theirs := ownFlags(given)
	flags, notes, err := compat.GenAIWords(append([]string{"analyze"}, theirs...))
	if err != nil {
		return err
	}
	p, err := argv.Parse(append(flags, own...), profileCommand.flags, c.accepted())
	if err != nil {
		return err
	}
	a.note(append(notes, p.Notes...)...)
	if err := a.environment(p); err != nil {
		return err
	}
	a.measured = writeAnalysis
	return a.measure("profile", p.Get("config"), p)
}

// ownFlags parts the long flags that only profile has from words; a flag that GenAI-Perf has
// too is left to be read as its.
func ownFlags(given []string) (own, rest []string) {
	for i := 0; i < len(given); i++ {
		name, _, glued := strings.Cut(strings.TrimPrefix(given[i], "--"), "=")
		at := slices.IndexFunc(profileCommand.flags, func(f argv.Switch) bool { return f.Name == name })
		if given[i] == "--" {
			return own, append(rest, given[i:]...)
		}
		if !strings.HasPrefix(given[i], "--") || at < 0 {
			rest = append(rest, given[i])
			continue
		}
		own = append(own, given[i])
		if profileCommand.flags[at].Arg != "" && !glued && i+1 < len(given) {
			i++
			own = append(own, given[i])
		}
	}
	return own, rest
}

// writeAnalysis writes GenAI-Perf's table of a sweep.
func writeAnalysis(a *app, plan *sweep.Plan, res *runner.Result) error {
	if res.Finished != nil {
		return nil // it was written when the plan ended
	}
	table := genaiperf.Analysis{Load: "Concurrency"}
	var missing []string
	for _, c := range plan.Cells {
		bench := &c.Resolved.Benchmark
		row := genaiperf.Swept{
			Name: fmt.Sprintf("%s_run_config_%d", bench.Models.Items[0].Name, c.Index),
			ISL:  math.NaN(), Entries: math.NaN(),
		}
		for i := range bench.Phases {
			if ph := &bench.Phases[i]; ph.Kind == "profiling" && ph.Rate > 0 {
				table.Load, row.Load = "Request Rate", ph.Rate
			} else if ph.Kind == "profiling" {
				row.Load = float64(ph.Concurrency)
			}
		}
		if ds := bench.Datasets; len(ds) > 0 {
			if isl := ds[0].Prompts.ISL; isl != nil {
				row.ISL = *cmp.Or(isl.Mean, isl.Value, &row.ISL)
			}
			if ds[0].Entries > 0 {
				row.Entries = float64(ds[0].Entries)
			}
		}
		var runs []*metrics.Summary
		for i := range res.Outcomes {
			o := &res.Outcomes[i]
			if o.Run.Cell != c || o.Run.Sentinel > 0 || o.Err != "" || len(o.Summaries) == 0 {
				continue
			}
			runs = append(runs, &o.Summaries[0])
			gpus, err := genaiperf.GPUsOf(filepath.Join(res.Dir, o.Run.Dir, "profile_export_aiperf.json"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if row.GPUs == nil {
				row.GPUs = gpus
			}
		}
		if len(runs) == 0 {
			missing = append(missing, c.Label)
			continue
		}
		mean := func(tag string, of func(metrics.Stat) float64) float64 {
			sum, n := 0.0, 0.0
			for _, s := range runs {
				if st, ok := s.Get(tag); ok {
					sum, n = sum+of(st), n+1
				}
			}
			return sum / n // NaN of none
		}
		p99 := func(st metrics.Stat) float64 { return st.P99 }
		avg := func(st metrics.Stat) float64 { return st.Avg }
		row.TTFT, row.ITL = mean(metrics.TimeToFirstToken, p99), mean(metrics.InterTokenLatency, p99)
		row.Latency, row.OSL = mean(metrics.RequestLatency, p99), mean(metrics.OutputSequenceLength, p99)
		row.Tokens, row.Requests = mean(metrics.OutputTokenThroughput, avg), mean(metrics.RequestThroughput, avg)
		table.Rows = append(table.Rows, row)
	}
	if len(missing) > 0 {
		a.warn(genaiperf.AnalysisFile + " has no row of " + strings.Join(missing, ", ") + ": nothing was measured there")
	}
	if len(table.Rows) == 0 {
		return nil
	}
	if err := table.Write(res.Dir); err != nil {
		return err
	}
	a.note("GenAI-Perf's table is " + filepath.Join(res.Dir, genaiperf.AnalysisFile))
	return nil
}
