package results

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/receipt"
)

// foreignReceipt is what another program's files tell of what a run delivered. What they do
// not tell stays unknown.
func foreignReceipt(res *importer.Result, run *importer.Run) (*receipt.Receipt, error) {
	r := receipt.New()
	r.Text("client.name", res.Tool)
	r.Text("client.version", cmp.Or(run.Version, res.Version))
	r.Text("definition.by", res.Own())
	r.Text("server.model", run.Model)
	r.Text("endpoint.type", run.Setting("endpoint.type"))
	r.Number("window.seconds", valueOf(run, metrics.BenchmarkDuration))
	if sent := float64(run.Sent()); sent > 0 {
		r.Number("requests.attempted", sent)
		r.Number("requests.ok", float64(run.OK))
		r.Number("requests.failed", float64(run.Failed))
		r.Number("requests.failed_share", float64(run.Failed)/sent)
	}
	sent, generated, err := lengths(run)
	if err != nil {
		return nil, err
	}
	r.Number("tokens.input.sent.mean", sent.mean)
	r.Number("tokens.input.sent.sd", sent.sd)
	r.Number("tokens.output.generated.mean", generated.mean)
	r.Number("tokens.output.generated.sd", generated.sd)
	return r, nil
}

// spread is a mean with its standard deviation; NaN is unknown.
type spread struct{ mean, sd float64 }

// lengths are those of prompts and of answers: as the summary has them, else of the single
// requests, else the mean alone, of the sums.
func lengths(run *importer.Run) (sent, generated spread, err error) {
	sent = spreadOf(run, metrics.InputSequenceLength, metrics.TotalISL)
	generated = spreadOf(run, metrics.OutputSequenceLength, metrics.TotalOSL)
	if run.Each == nil || !math.IsNaN(sent.sd) && !math.IsNaN(generated.sd) {
		return sent, generated, nil
	}
	var in, out []float64
	err = run.Each(func(q *importer.Request) error {
		if q.Status == "ok" && !math.IsNaN(q.ISL) && !math.IsNaN(q.OSL) {
			in, out = append(in, q.ISL), append(out, q.OSL)
		}
		return nil
	})
	if err != nil || len(in) == 0 {
		return sent, generated, err
	}
	return spread{stats.Mean(in), deviation(in)}, spread{stats.Mean(out), deviation(out)}, nil
}

func deviation(v []float64) float64 {
	mean, sum := stats.Mean(v), 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(v)))
}

func spreadOf(run *importer.Run, each, total string) spread {
	if s := summaryOf(run, each); s != nil && !math.IsNaN(s.Avg) {
		return spread{s.Avg, s.Std}
	}
	return spread{valueOf(run, total) / float64(run.OK), math.NaN()}
}

func summaryOf(run *importer.Run, tag string) *metrics.Stat {
	if i := slices.IndexFunc(run.Stats, func(s metrics.Stat) bool { return s.Tag == tag }); i >= 0 {
		return &run.Stats[i]
	}
	return nil
}

func valueOf(run *importer.Run, tag string) float64 {
	if s := summaryOf(run, tag); s != nil {
		return s.Avg
	}
	return math.NaN()
}

// counts are the fields that depend on what a program counts as a token of the prompt and the
// answer: with the chat template or without, by its own tokenizer or by the server's usage.
var counts = []string{"tokens.input.sent.mean", "tokens.input.sent.sd", "tokens.output.generated.mean", "tokens.output.generated.sd"}

// countElsewhere leaves tokens out of the receipts of a program that is held against another.
func (s *System) countElsewhere() {
	for _, runs := range s.receipts {
		for _, r := range runs {
			for _, name := range counts {
				r.Number(name, math.NaN())
			}
		}
	}
}
