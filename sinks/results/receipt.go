package results

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep"
)

// Receipts are those of the runs of a directory of ours: as they were written, or made from
// its tables where an older version wrote none.
func Receipts(dir string) (*receipt.Document, error) {
	d, err := receipt.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return MakeReceipts(dir)
	}
	return d, err
}

// MakeReceipts makes the receipts of a directory of ours from its plan, its tables and what
// its runs say of themselves: the same ones whoever makes them, and whenever.
func MakeReceipts(dir string) (*receipt.Document, error) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, err
	}
	rows, err := sinks.ReadTable(dir, "runs", among("cell_index", "trial", "run_id", "seed", "verdict", "path", "sentinel",
		"window_start_ns", "window_end_ns", "steady_start_ns", "steady_end_ns", "replay_hit_rate_trace"))
	if err != nil {
		return nil, err
	}
	labels, reports := labelsOf(lock.Cells), resultdir.ReportsOf(dir)
	folders := map[string]string{}
	begun, _ := resultdir.Begun(dir) // of a damaged journal, runs in the directory itself are found
	for _, e := range begun {
		folders[e.Run] = e.Dir
	}
	var runs []receipt.Run
	of := map[[2]int]*delivered{}
	for i := range rows.N {
		cell, trial := number(rows, "cell_index", i), number(rows, "trial", i)
		if cell < 0 || cell >= len(lock.Cells) || float(rows, "sentinel", i) > 0 { // the sentinel's are no trials
			continue
		}
		run := receipt.Run{Run: text(rows, "run_id", i), Cell: labels[cell], Trial: trial, Receipt: receipt.New()}
		r := run.Receipt
		body := lock.Cells[cell].Benchmark
		r.Asked = facts(body)
		asked(r, body)
		r.Number("window.seconds", (float(rows, "window_end_ns", i)-float(rows, "window_start_ns", i))/1e9)
		r.Number("window.steady_seconds", (float(rows, "steady_end_ns", i)-float(rows, "steady_start_ns", i))/1e9)
		r.Number("prefix.hit_rate_delivered", float(rows, "replay_hit_rate_trace", i))
		r.Text("client.verdict", text(rows, "verdict", i))
		r.Text("client.version", rows.Meta["aiperf.version"])
		r.Text("definition.by", strings.TrimSpace("aiperf "+rows.Meta["aiperf.version"]))
		var said reportOfRun
		if reports.Read(run.Run, folders[run.Run], &said) != nil {
			said = reportOfRun{} // it says nothing
		}
		said.tell(r)
		of[[2]int{cell, trial}] = newDelivered(r, said.warmups(), sweep.Closed(phasesOf(body)))
		runs = append(runs, run)
	}
	if err := deliveredBy(dir, of); err != nil {
		return nil, err
	}
	return receipt.NewDocument(runs), nil
}

// reportOfRun is what is read of a run's own report.
type reportOfRun struct {
	Seed      json.Number `json:"seed"`
	Dataset   string      `json:"dataset_sha256"`
	Hit       *float64    `json:"prefix_hit_rate"`
	Tokenizer string      `json:"tokenizer"`
	Counted   string      `json:"tokenizer_sha256"`
	Stamps    string      `json:"stamps"`
	Phases    []struct {
		Name   string  `json:"name"`
		Warmup bool    `json:"warmup"`
		Start  float64 `json:"start_ns"`
		Stop   string  `json:"stop"`
	} `json:"phases"`
	Identity struct {
		Before []struct {
			Server string `json:"server"`
		} `json:"before"`
	} `json:"identity"`
}

func (s *reportOfRun) tell(r *receipt.Receipt) {
	r.Text("seed", s.Seed.String())
	r.Text("dataset.digest", s.Dataset)
	if s.Hit != nil {
		r.Number("prefix.hit_rate_theoretical", *s.Hit)
	}
	r.Text("tokenizer.name", s.Tokenizer)
	r.Text("tokenizer.digest", s.Counted)
	r.Text("client.stamps", s.Stamps)
	var servers []string
	for _, at := range s.Identity.Before {
		servers = appendNew(servers, at.Server)
	}
	r.Text("server.name", strings.Join(servers, ", "))
}

// warmups are the names of the phases that do not count.
func (s *reportOfRun) warmups() map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Phases {
		out[p.Name] = p.Warmup
	}
	return out
}

// asked fills in what the settings of a run say, and what our numbers mean.
func asked(r *receipt.Receipt, body json.RawMessage) {
	r.Text("client.name", "aiperf")
	r.Text("definition.ttft", "first_content")
	r.Text("definition.itl", "per_request")
	r.Text("definition.latency", "last_content")
	r.Text("definition.throughput", "first_sent_to_last_end")
	r.Text("definition.failures", "ok")
	var b struct {
		Endpoint struct {
			Type      string         `json:"type"`
			Streaming bool           `json:"streaming"`
			Extra     schema.Members `json:"extra"`
		} `json:"endpoint"`
		Datasets []schema.Dataset `json:"datasets"`
		Phases   []schema.Phase   `json:"phases"`
	}
	if json.Unmarshal(body, &b) != nil {
		return // older settings say nothing
	}
	r.Text("endpoint.type", b.Endpoint.Type)
	r.Flag("endpoint.streaming", b.Endpoint.Streaming)
	ignore, _ := b.Endpoint.Extra.Get("ignore_eos").(bool)
	r.Flag("tokens.ignore_eos", ignore)
	var laws []string
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind == "warmup" {
			continue
		}
		if laws = append(laws, p.Type); len(laws) > 1 {
			continue // a number of several phases is that of none
		}
		r.Number("arrivals.rate_asked", orNaN(p.Rate))
		r.Number("concurrency.asked", orNaN(float64(p.Concurrency)))
		r.Number("requests.asked", orNaN(float64(p.Requests)))
	}
	if r.Text("arrivals.law", strings.Join(laws, ", ")); len(laws) > 1 {
		for _, name := range []string{"arrivals.rate_asked", "concurrency.asked", "requests.asked"} {
			r.Number(name, math.NaN())
		}
	}
	var names []string
	for i := range b.Datasets {
		d := &b.Datasets[i]
		for _, name := range []string{d.Dataset, d.HFWekaDataset, d.Format, d.Type} {
			if name != "" {
				names = append(names, name)
				break
			}
		}
	}
	r.Text("dataset.name", strings.Join(names, ", "))
	if len(b.Datasets) == 1 {
		d := &b.Datasets[0]
		if s := d.Prompts.ISL; s != nil && s.Mean != nil && len(s.Peaks)+len(s.Points) == 0 {
			r.Number("tokens.input.asked", *s.Mean)
		}
		if d.Prefix != nil {
			r.Number("prefix.hit_rate_asked", orNaN(d.Prefix.HitRate))
		}
	}
}

// orNaN is a setting for which 0 is none.
func orNaN(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func appendNew(list []string, s string) []string {
	for _, had := range list {
		if had == s {
			return list
		}
	}
	if s == "" {
		return list
	}
	return append(list, s)
}
