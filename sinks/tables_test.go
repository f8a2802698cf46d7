package sinks_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/record/recordtest"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks"
)

// rowsOf is a table as text, one map per row, null absent: what a format says,
// in the spelling of Go.
type rowsOf []map[string]string

func readParquet(t *testing.T, path string) rowsOf {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	cols := f.Root().Columns()
	var out rowsOf
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := rows.ReadRows(buf)
			if n == 1 {
				m := map[string]string{}
				for _, v := range buf[0] {
					if c := cols[v.Column()]; !v.IsNull() {
						m[c.Name()] = v.String()
						if v.Kind() == parquet.Double {
							m[c.Name()] = fmt.Sprint(v.Double())
						}
						if v.Kind() == parquet.Float {
							m[c.Name()] = fmt.Sprint(v.Float())
						}
					}
				}
				out = append(out, m)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		rows.Close()
	}
	return out
}

func readArrow(t *testing.T, b []byte) rowsOf {
	t.Helper()
	f, err := ipc.NewFileReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out rowsOf
	for i := range f.NumRecords() {
		rec, err := f.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		for j := range int(rec.NumRows()) {
			m := map[string]string{}
			for k, fd := range rec.Schema().Fields() {
				if col := rec.Column(k); col.IsValid(j) {
					m[fd.Name] = arrowText(t, col, j)
				}
			}
			out = append(out, m)
		}
	}
	return out
}

func arrowText(t *testing.T, a arrow.Array, j int) string {
	switch a := a.(type) {
	case *array.Int64:
		return fmt.Sprint(a.Value(j))
	case *array.Int32:
		return fmt.Sprint(a.Value(j))
	case *array.Int16:
		return fmt.Sprint(a.Value(j))
	case *array.Float64:
		return fmt.Sprint(a.Value(j))
	case *array.Float32:
		return fmt.Sprint(a.Value(j))
	case *array.Boolean:
		return fmt.Sprint(a.Value(j))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(j)))
	case *array.String:
		return a.Value(j)
	}
	t.Fatalf("unexpected %T", a)
	return ""
}

// readCSV turns the CSV's spelling into Go's, by the kinds of the Parquet file.
func readCSV(t *testing.T, b []byte, table string) rowsOf {
	t.Helper()
	fs, err := sinks.Columns(table)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]sinks.Kind{}
	for _, f := range fs {
		kinds[f.Name] = f.Kind
	}
	kinds["axis_temperature"], kinds["axis_alpha_only"] = sinks.Float64, sinks.Bool
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out rowsOf
	for _, l := range lines[1:] {
		m := map[string]string{}
		for i, s := range l {
			name := lines[0][i]
			if s == "" {
				continue
			}
			switch kinds[name] {
			case sinks.Float64, sinks.Float32:
				bits := 64
				if kinds[name] == sinks.Float32 {
					bits = 32
				}
				f, err := strconv.ParseFloat(s, bits)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if s = fmt.Sprint(f); bits == 32 {
					s = fmt.Sprint(float32(f))
				}
			case sinks.Time:
				at, err := time.Parse(time.RFC3339Nano, s)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				s = fmt.Sprint(at.UnixNano())
			}
			m[name] = s
		}
		out = append(out, m)
	}
	return out
}

// The fixed record set comes back equal from every format, and what a request
// leaves behind stands where the table promises.
func TestTablesCarryTheFixedRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := demoPlan("alpha", 1, 1)
	journal := filepath.Join(dir, "stream.arrow")
	zero := t0.Add(10 * time.Second) // the run began 10 s into the experiment
	writeJournal(t, journal, p, 0, 0, zero, all(recordtest.Fixed()))
	info, err := sinks.WriteTables(dir, sinks.TablesInput{
		Plan: p, T0: t0, Version: "0.1.0", Verdict: validity.Valid.String(),
		Chunks: true, Formats: []string{"arrow", "csv"},
		Journals: []sinks.RunJournal{{Path: journal, SteadyStart: 0, SteadyEnd: 91_900_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := readParquet(t, filepath.Join(dir, "requests.parquet"))
	want := map[string]string{ // by hand, from recordtest.Fixed()[0]
		"experiment": "alpha", "cell": p.Cells[0].ID, "cell_index": "0", "axis_concurrency": "1", "axis_temperature": "0",
		"axis_endpoint": "candidate", "axis_alpha_only": "true", "trial": "0", "run_id": p.Runs[0].ID, "phase": "profiling",
		"request_id": "0", "session_id": "s-0", "conversation_id": "session_000003", "turn": "2", "worker": "3", "model": "m/µ",
		"url": "http://127.0.0.1:8000/v1/chat/completions", "prompt_sha": "0011223344556677",
		"intended_ns": "10001000000", "admitted_ns": "10001100000", "sent_ns": "10001250000", "first_byte_ns": "10020000000",
		"first_token_ns": "10041250000", "last_token_ns": "10091250000", "end_ns": "10091900000",
		"start_time": fmt.Sprint(zero.UnixNano() + 1_250_000), "status": "ok", "http_status": "200", "served_model": "served", "finish_reason": "stop",
		"in_window": "true", "steady": "true", "isl": "512", "osl": "11", "osl_requested": "12", "reasoning_tokens": "3",
		"usage_prompt_tokens": "520", "usage_completion_tokens": "11", "cached_tokens": "0", "chunks": "4",
		"ttft_ms": "40", "ttfo_ms": "50", "itl_ms": "5", "latency_ms": "90", "ttft_from_intended_ms": "40.25",
		"latency_from_intended_ms": "90.25", "dispatch_lateness_ms": "0.149996", "connecting_ns": "4", "admission_wait_ms": "0.1", "receive_lag_us": "12.5",
		"tps_user": "200", "slo_ok": "false", "slo_ok_from_sent": "false", "slo_failed": "time_to_first_token", "open_loop": "true", "connection_reused": "true", "resent": "true", "resent_read": "true", "bytes_sent": "0", "bytes_received": "2310", "items": "2", "item_kind": "vectors", "dimensions": "768", "images": "1", "media_bytes": "4096", "media_sha": "8899aabbccddeeff", "audio_s": "1.5", "download_ms": "7.5", "video_inference_ms": "44.5", "video_memory_mb": "2048", "server_queue_ms": "1", "server_prefill_ms": "30", "server_decode_ms": "45",
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("first request (-want +got):\n%s", diff)
	}
	unset := map[string]string{ // recordtest.Fixed()[1]: nothing measured is null, not 0
		"phase": "warmup", "request_id": "1", "worker": "0", "turn": "0", "status": "client", "in_window": "false",
		"steady": "false", "chunks": "0", "open_loop": "false", "connection_reused": "false", "resent": "false", "resent_read": "false",
	}
	for _, k := range []string{
		"experiment", "cell", "cell_index", "axis_concurrency", "axis_temperature",
		"axis_endpoint", "axis_alpha_only", "trial", "run_id",
	} {
		unset[k] = want[k]
	}
	if diff := cmp.Diff(unset, got[1]); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
	if got[2]["slo_ok"] != "false" || got[2]["error_message"] != recordtest.Fixed()[2].ErrorMessage ||
		got[2]["steady"] != "true" {
		t.Errorf("third request %v", got[2])
	}
	chunks := readParquet(t, filepath.Join(dir, "chunks.parquet"))
	var gaps []string
	for _, c := range chunks {
		gaps = append(gaps, c["kind"]+" "+c["t_ns"]+" "+c["gap_ms"]+" "+c["tokens"]+" "+c["same_read"])
	}
	wantGaps := []string{
		"reasoning 10041250000  3 false", "content 10051250000 10  false", "tool 10051250000 0  true",
		"content 10091250000 40 4 false", "usage 10091800000   false", "done 10091900000   true",
	}
	if diff := cmp.Diff(wantGaps, gaps); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	for _, table := range []string{"requests", "chunks"} {
		sameInEveryFormat(t, dir, table)
	}
	checkFiles(t, dir, info.Files)
}

// sameInEveryFormat compares the files of a table, and exports of it, with its Parquet.
func sameInEveryFormat(t *testing.T, dir, table string) {
	t.Helper()
	for _, how := range []string{"written", "exported"} {
		want := readParquet(t, filepath.Join(dir, table+".parquet"))
		load := func(format string) []byte {
			if how == "exported" {
				var b bytes.Buffer
				if err := sinks.Export(dir, format, table, &b); err != nil {
					t.Fatal(err)
				}
				return b.Bytes()
			}
			b, err := os.ReadFile(filepath.Join(dir, table+"."+format))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if diff := cmp.Diff(want, readArrow(t, load("arrow"))); diff != "" {
			t.Errorf("%s, arrow as %s (-parquet +arrow):\n%s", table, how, diff)
		}
		if how == "written" && table == "metrics" { // whose CSV has the cells
			want = slices.DeleteFunc(slices.Clone(want), func(row map[string]string) bool { return row["trial"] != "" })
		}
		if diff := cmp.Diff(inThousandths(t, want, table), readCSV(t, load("csv"), table)); diff != "" {
			t.Errorf("%s, csv as %s (-parquet +csv):\n%s", table, how, diff)
		}
	}
}

// inThousandths are rows as a CSV has them: some columns to the thousandth.
func inThousandths(t *testing.T, rows rowsOf, table string) rowsOf {
	t.Helper()
	fs, err := sinks.Columns(table)
	if err != nil {
		t.Fatal(err)
	}
	out := make(rowsOf, len(rows))
	for i, row := range rows {
		out[i] = maps.Clone(row)
		for _, f := range fs {
			x, err := strconv.ParseFloat(row[f.Name], 64)
			if err == nil && sinks.InThousandths(table, f) {
				out[i][f.Name] = fmt.Sprint(math.Round(x*1000) / 1000)
			}
		}
	}
	return out
}

// checkFiles holds what WriteTables says about files against the files.
func checkFiles(t *testing.T, dir string, files []sinks.FileInfo) {
	t.Helper()
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(b)
		name, _, _ := strings.Cut(f.Path, ".")
		if int64(len(b)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 || f.Schema != name+"/4" ||
			f.Kind != "table" {
			t.Errorf("%s: info %+v does not fit the file (%d bytes, %x)", f.Path, f, len(b), sum)
		}
	}
}

// A small matrix: every table, its rows, order, metadata and units.
func TestWriteTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := demoPlan("alpha", 3, 2)
	in := inputOf(t, dir, p, 200, 4)
	in.Journals[0], in.Journals[5] = in.Journals[5], in.Journals[0] // given in any order
	in.Formats = []string{"csv", "arrow"}
	info, err := sinks.WriteTables(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, f := range info.Files {
		rows[f.Path] = f.Rows
	}
	chunkRows := rows["chunks.parquet"]
	want := map[string]int64{}
	for table, n := range map[string]int64{
		"requests": 1200, "chunks": chunkRows, "runs": 6, "cells": 3, "metrics": 9,
		"checks": 3,
	} {
		for _, format := range sinks.Formats() {
			want[table+"."+format] = n
		}
	}
	want["metrics.csv"] = 3 // of the cells
	if diff := cmp.Diff(want, rows); diff != "" || chunkRows < 4500 {
		t.Errorf("files and rows (-want +got), %d chunks:\n%s", chunkRows, diff)
	}
	checkFiles(t, dir, info.Files)
	for table := range map[string]bool{"requests": true, "runs": true, "cells": true, "metrics": true, "checks": true} {
		sameInEveryFormat(t, dir, table)
	}
	at := 0
	for i, r := range readParquet(t, filepath.Join(dir, "requests.parquet")) {
		run := p.Runs[i/200]
		if r["run_id"] != run.ID || r["request_id"] != strconv.Itoa(i) {
			t.Fatalf("row %d is request %s of %s, want %d of %s", i, r["request_id"], r["run_id"], i, run.ID)
		}
		if r["intended_ns"] != strconv.FormatInt(int64(i/200)*int64(time.Hour)+int64(i%200)*200_000, 10) {
			t.Fatalf("row %d: intended_ns %s is not on the experiment's clock", i, r["intended_ns"])
		}
		at = i
	}
	if at != 1199 {
		t.Errorf("%d rows", at+1)
	}
	checks := readParquet(t, filepath.Join(dir, "checks.parquet"))
	if c := checks[0]; c["cell"] != "" || c["axis_concurrency"] != "" || c["experiment"] != "alpha" {
		t.Errorf("a check of the experiment names a cell: %v", c)
	}
	if c := checks[2]; c["cell"] != p.Cells[0].ID || c["run_id"] != "" || c["value"] != "" {
		t.Errorf("a check of a cell: %v", c)
	}
	metadata(t, filepath.Join(dir, "requests.parquet"))
}

func metadata(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"aiperf.schema": "requests/4", "aiperf.version": "0.1.0", "aiperf.experiment": "alpha", "aiperf.plan_sha256": "sha256:alpha",
		"aiperf.t0_unix_ns": fmt.Sprint(t0.UnixNano()), "aiperf.verdict": validity.Valid.String(), "aiperf.host": `{"cpus":2}`,
	} {
		if got, _ := f.Lookup(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	text, _ := f.Lookup("aiperf.units")
	var units map[string]string
	if err := json.Unmarshal([]byte(text), &units); err != nil || units["ttft_ms"] != "ms" || units["isl"] != "tokens" {
		t.Errorf("aiperf.units = %q", text)
	}
	if text, _ := f.Lookup("aiperf.axes"); !strings.Contains(text,
		`{"name":"axis_alpha_only","path":"benchmark.endpoint.extra.x"}`) {
		t.Errorf("aiperf.axes = %q", text)
	}
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	cols, err := sinks.Columns("requests")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range cols {
		if want = append(want, c.Name); c.Name == "axis_endpoint" {
			want = append(want, "axis_temperature", "axis_alpha_only")
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// An axis has one type in every row, decided by all of its values.
func TestAxisKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []any
		want   sinks.Kind
	}{
		{"concurrency", []any{int64(1), 4.0}, sinks.Int64}, // a well-known axis keeps its type while the values fit
		{"isl", []any{int64(1), 2.5}, sinks.Float64},
		{"rate", []any{int64(1), int64(2)}, sinks.Float64}, // request_rate
		{"model", []any{"a", "b"}, sinks.Text},
		{"x", []any{int64(1), int64(2)}, sinks.Int64},
		{"x", []any{int64(1), 2.0}, sinks.Float64},
		{"x", []any{true, nil}, sinks.Bool},
		{"x", []any{true, int64(1)}, sinks.Text},
		{"x", []any{"a", 1.5}, sinks.Text},
		{"x", []any{nil}, sinks.Text},
		{"x.y-z", []any{map[string]any{"label": "l"}}, sinks.Text},
	} {
		p := demoPlan("a", len(c.values), 1)
		for i := range p.Cells {
			p.Cells[i].Point = p.Cells[i].Point[:0:0]
			p.Cells[i].Point = append(p.Cells[i].Point, demoPlan("a", 1, 1).Cells[0].Point[0])
			p.Cells[i].Point[0].Axis, p.Cells[i].Point[0].Value = c.name, c.values[i]
		}
		name := map[string]string{"rate": "request_rate", "x.y-z": "x_y_z"}[c.name]
		if name == "" {
			name = c.name
		}
		found := false
		for _, a := range sinks.AxesOf(p) {
			if a.Name == name {
				found = true
				if a.Kind != c.want {
					t.Errorf("axis %s of %v is %v, want %v", c.name, c.values, a.Kind, c.want)
				}
			}
		}
		if !found {
			t.Errorf("axis %s is missing", name)
		}
	}
}

// Rows of many row groups, a dictionary that overflows and a straggler that
// ends after everything else: every value is where it belongs.
func TestLargeTable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 140,000 rows")
	}
	const n = 140_000 // more than a row group
	dir := t.TempDir()
	p := demoPlan("alpha", 1, 1)
	journal := filepath.Join(dir, "stream.arrow")
	sha := func(i int64) string { return fmt.Sprintf("%064x", i) } // 9 MB: outgrows the dictionary
	writeJournal(t, journal, p, 0, 0, t0, func(yield func(*record.Record) bool) {
		r := record.New()
		r.Phase, r.Status = "profiling", record.OK
		for i := int64(1); i <= n; i++ {
			r.RequestID = i % n // 0 comes last
			r.PromptSHA, r.Sent, r.ISL = sha(r.RequestID), r.RequestID*1000, record.None
			if r.RequestID%2 == 1 {
				r.ISL = r.RequestID
			}
			if !yield(&r) {
				return
			}
		}
	})
	if _, err := sinks.WriteTables(dir, sinks.TablesInput{
		Plan: p, T0: t0,
		Journals: []sinks.RunJournal{{Path: journal, SteadyStart: record.None, SteadyEnd: record.None}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chunks.parquet")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("chunks.parquet was written though not asked for: %v", err)
	}
	path := filepath.Join(dir, "requests.parquet")
	ids, shas, isls, sents := columnOf(t, path, "request_id"), columnOf(t, path, "prompt_sha"),
		columnOf(t, path, "isl"), columnOf(t, path, "sent_ns")
	seen := make([]bool, n)
	last, disorder := int64(-1), 0
	for i := range ids {
		id := ids[i].Int64()
		isl := parquet.NullValue()
		if id%2 == 1 {
			isl = parquet.Int32Value(int32(id))
		}
		if seen[id] || string(shas[i].ByteArray()) != sha(id) || !parquet.Equal(isls[i], isl) ||
			sents[i].Int64() != id*1000 {
			t.Fatalf("row %d is request %d (seen %v): sha %v, isl %v, sent %v", i, id, seen[id], shas[i], isls[i],
				sents[i])
		}
		seen[id] = true
		if id < last {
			disorder++
		}
		last = id
	}
	if len(ids) != n || disorder != 1 {
		t.Errorf("%d rows, %d out of order; want %d and only the straggler", len(ids), disorder, n)
	}
}

// columnOf is every value of a column.
func columnOf(t *testing.T, path, name string) []parquet.Value {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	leaf, ok := f.Schema().Lookup(name)
	if !ok {
		t.Fatalf("no column %s", name)
	}
	var out []parquet.Value
	for _, g := range f.RowGroups() {
		r := parquet.NewColumnChunkValueReader(g.ColumnChunks()[leaf.ColumnIndex])
		buf := make([]parquet.Value, 1000)
		for {
			n, err := r.ReadValues(buf)
			for _, v := range buf[:n] {
				out = append(out, v.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestWriteTablesRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := demoPlan("alpha", 2, 1)
	in := inputOf(t, dir, p, 3, 0)
	in.Formats = []string{"xlsx"}
	if _, err := sinks.WriteTables(dir, in); err == nil || !strings.Contains(err.Error(), `no format "xlsx"`) {
		t.Errorf("unknown format: %v", err)
	}
	in.Formats = nil
	in.Journals[0].Path = in.Journals[1].Path
	if _, err := sinks.WriteTables(dir, in); err == nil || !strings.Contains(err.Error(),
		"is of cell 1 trial 0, want cell 0 trial 0") {
		t.Errorf("a journal of another run: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*requests*"))
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left)+len(hidden) != 0 {
		t.Errorf("files left behind: %q %q", left, hidden)
	}
	if _, err := sinks.WriteTables(filepath.Join(dir, "none"), inputOf(t, t.TempDir(), p, 1, 0)); err == nil ||
		!strings.Contains(err.Error(), "none/requests.parquet: no such file") {
		t.Errorf("no directory: %v", err)
	}
	var b bytes.Buffer
	for _, c := range [][3]string{
		{"xls", "requests", "no format"},
		{"csv", "reqs", "no table"},
		{"csv", "telemetry", "has no table telemetry"},
	} {
		if err := sinks.Export(dir, c[0], c[1], &b); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("Export(%s, %s) = %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

// A column keeps its meaning: names, kinds and nullability of every table are
// a contract with everybody's notebooks.
func TestColumnsAreStable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, table := range sinks.TableNames() {
		fs, err := sinks.Columns(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			null := ""
			if f.Null {
				null = "null"
			}
			fmt.Fprintf(&b, "%s\t%s\t%v\t%s\t%s\n", table, f.Name, f.Kind, f.Unit, null)
		}
	}
	golden := filepath.Join("testdata", "columns.tsv")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("columns changed; if meant so, run with UPDATE_GOLDEN=1 and raise the schema version (-want +got):\n%s", diff)
	}
}

// Where no format is named, cells and runs are written in all, requests as Parquet and
// CSV, chunks, metrics and checks as Parquet. The CSV of the metrics has the cells. The bodies of a large
// Arrow file are compressed.
func TestFormatsByDefault(t *testing.T) {
	t.Parallel()
	p := demoPlan("a", 1, 1)
	dir := t.TempDir()
	in := inputOf(t, t.TempDir(), p, 2000, 4)
	if _, err := sinks.WriteTables(dir, in); err != nil {
		t.Fatal(err)
	}
	size := func(path string) int64 {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	for _, name := range []string{
		"requests.parquet", "requests.csv", "chunks.parquet", "metrics.parquet", "cells.csv",
		"cells.arrow", "runs.arrow",
	} {
		size(filepath.Join(dir, name))
	}
	for _, name := range []string{
		"requests.arrow", "chunks.arrow", "chunks.csv", "metrics.arrow", "metrics.csv",
		"checks.csv",
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written though nobody asked for it", name)
		}
	}
	asked := t.TempDir()
	in.Formats = []string{"arrow", "csv"}
	if _, err := sinks.WriteTables(asked, in); err != nil {
		t.Fatal(err)
	}
	size(filepath.Join(asked, "chunks.csv"))
	if arrow, csv := size(filepath.Join(asked, "requests.arrow")),
		size(filepath.Join(asked, "requests.csv")); arrow > csv/2 {
		t.Errorf("requests.arrow has %d bytes, requests.csv %d: it is not compressed", arrow, csv)
	}
	sameInEveryFormat(t, asked, "requests")
	csv, err := os.ReadFile(filepath.Join(asked, "metrics.csv"))
	if err != nil || strings.Count(string(csv), ",cell,,") != len(p.Cells) || strings.Contains(string(csv), ",run,") {
		t.Errorf("metrics.csv, %v:\n%s", err, csv)
	}
}
