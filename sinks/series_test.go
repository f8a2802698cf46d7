package sinks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
)

// Samples go from the runs' own files into their table, on the experiment's clock. A
// run that was killed brings what it had written; one without samples brings none.
func TestSamplesBecomeATable(t *testing.T) {
	t.Parallel()
	const perRun = 5000 // several batches
	dir, p := t.TempDir(), demoPlan("alpha", 2, 2)
	in := sinks.TablesInput{Plan: p, T0: t0, Formats: []string{"parquet"}}
	for i, r := range p.Runs {
		meta := sinks.RunMeta{CellIndex: r.Cell.Index, Trial: r.Trial, T0: t0.Add(time.Duration(i) * time.Hour)}
		own := filepath.Join(dir, r.ID)
		if err := os.Mkdir(own, 0o755); err != nil {
			t.Fatal(err)
		}
		journal := filepath.Join(own, resultdir.StreamName)
		writeJournal(t, journal, p, r.Cell.Index, r.Trial, meta.T0, outOfOrder(newGenerator(1, 0), 3))
		in.Journals = append(in.Journals, sinks.RunJournal{
			Place: sinks.Place{Cell: r.Cell.Index, Trial: r.Trial},
			Path:  journal,
		})
		samples, err := sinks.Telemetry().Open(own, meta)
		if err != nil {
			t.Fatal(err)
		}
		for k := range perRun {
			if i == 1 { // nothing was sampled
				break
			}
			err := samples.Write(sinks.Sample{
				At: int64(k) * 1e6, Source: "host", Metric: "client_cpu",
				Unit: "cores", Kind: "gauge", Value: float64(k),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := samples.Close(); err != nil {
			t.Fatal(err)
		}
	}
	killed := filepath.Join(dir, p.Runs[3].ID, resultdir.StreamOf("telemetry"))
	if st, err := os.Stat(killed); err != nil || os.Truncate(killed, st.Size()-100) != nil {
		t.Fatal(err)
	}
	info, err := sinks.WriteTables(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	rows := readParquet(t, filepath.Join(dir, "telemetry.parquet"))
	runs := map[string]int{}
	for _, row := range rows {
		runs[row["run_id"]]++
		i := 0
		for p.Runs[i].ID != row["run_id"] {
			i++
		}
		k := int64(runs[row["run_id"]] - 1)
		if at := strconv.FormatInt(int64(i)*int64(time.Hour)+k*1e6, 10); row["t_ns"] != at ||
			row["value"] != strconv.FormatInt(k, 10) || row["metric"] != "client_cpu" {
			t.Fatalf("sample %d of run %d: %v, want t_ns %s", k, i, row, at)
		}
	}
	for i, want := range []int{perRun, 0, perRun, -1} {
		if n := runs[p.Runs[i].ID]; n != want && (want >= 0 || n == 0 || n >= perRun) {
			t.Errorf("run %d has %d samples, want %d (below 0: some of %d)", i, n, want, perRun)
		}
	}
	if b, err := json.Marshal(info.Files); err != nil || len(rows) == 0 {
		t.Errorf("%s, %v", b, err)
	}
}

// A run that did not begin leaves no file of samples, one without samples neither.
func TestNoSamplesNoFile(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3} {
		dir := t.TempDir()
		s, err := sinks.Telemetry().Open(dir, sinks.RunMeta{T0: t0})
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			if err := s.Write(sinks.Sample{At: int64(k) * 1e9}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Discard(); err != nil {
			t.Fatal(err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%d samples: %v, %v", n, files, err)
		}
	}
}
