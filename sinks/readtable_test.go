package sinks_test

import (
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"aiperf.dev/aiperf/sinks"
)

// ReadTable gives what the file holds, row by row, and only what was asked for.
func TestReadTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sinks.WriteTables(dir, inputOf(t, dir, demoPlan("alpha", 2, 1), 50, 4)); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{"run_id": true, "sent_ns": true, "steady": true, "ttft_ms": true}
	got, err := sinks.ReadTable(dir, "requests", func(c string) bool { return asked[c] })
	if err != nil {
		t.Fatal(err)
	}
	if got.N != 100 || len(got.Floats) != 3 || len(got.Texts) != 1 || got.Meta["aiperf.experiment"] != "alpha" {
		t.Fatalf("%d rows, columns %d and %d, meta %v", got.N, len(got.Floats), len(got.Texts), got.Meta)
	}
	for i, r := range readParquet(t, filepath.Join(dir, "requests.parquet")) {
		if got.Texts["run_id"][i] != r["run_id"] || strconv.FormatInt(int64(got.Floats["sent_ns"][i]),
			10) != r["sent_ns"] && r["sent_ns"] != "" {
			t.Fatalf("row %d: %s, %v; want %v", i, got.Texts["run_id"][i], got.Floats["sent_ns"][i], r)
		}
		if (r["ttft_ms"] == "") != math.IsNaN(got.Floats["ttft_ms"][i]) {
			t.Fatalf("row %d: ttft_ms %v, want %q", i, got.Floats["ttft_ms"][i], r["ttft_ms"])
		}
	}
	if _, err := sinks.ReadTable(dir, "nothing", nil); err == nil {
		t.Error("a table that is not there was read")
	}
}
