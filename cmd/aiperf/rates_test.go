package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks"
)

// TestRatesBesideAIPerfs holds the rates of AIPerf's files and of our tables against
// their records: AIPerf divides by the window from the first request issued to the last
// end, with all that succeeded; so do our tables in the full window, and in the steady
// one each request counts with the part of it that lies inside. In an open loop AIPerf
// judges a request from its sending, we from when it was due.
func TestRatesBesideAIPerfs(t *testing.T) {
	t.Parallel()
	const limit = 15.0 // ms; some answers are shorter, some longer
	for name, load := range map[string][]string{
		"streamed":      {"--streaming", "--concurrency", "4"},
		"whole answers": {"--concurrency", "4"},
		"open loop":     {"--streaming", "--request-rate", "300", "--concurrency", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			aiperf(t, dir, append([]string{
				"profile", "-m", "demo", "-u", "mock:?ttft=5ms&itl=1ms", "--tokenizer", "builtin", "--artifact-dir", "out", "--request-count", "60",
				"--isl", "20", "--osl", "10", "--osl-stddev", "5", "--random-seed", "7", "--goodput", "request_latency:15",
			}, load...)...).wants(diag.OK, diag.Invalid) // a busy machine may make a run INVALID
			out := filepath.Join(dir, "out")
			theirs := ratesOfRecords(t, out, limit)
			summary := summaryRates(t, out)
			for tag, want := range theirs {
				near(t, "AIPerf's "+tag, summary[tag], want, 2e-5) // its times have microseconds
			}
			full, steady := ratesOfTable(t, out, limit)
			written := writtenRates(t, out)
			for tag, want := range full {
				near(t, "full "+tag, written["full "+tag], want, 1e-9)
				theirs := tag
				if tag == "goodput" && name == "open loop" {
					continue // judged from the due time; AIPerf's is goodput_from_sent
				}
				if tag == "goodput_from_sent" {
					theirs = "goodput"
				}
				near(t, tag+" beside AIPerf's", written["full "+tag], summary[theirs], 1e-9)
			}
			if name == "whole answers" { // of streams each event counts where it came
				for tag, want := range steady {
					near(t, "steady "+tag, written["steady "+tag], want, 1e-9)
				}
			}
		})
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*want) {
		t.Errorf("%s is %.12g, its records say %.12g", what, got, want)
	}
}

// ratesOfRecords are the rates of profile_export.jsonl over the window that AIPerf's
// summary says.
func ratesOfRecords(t *testing.T, dir string, limit float64) map[string]float64 {
	t.Helper()
	var window struct {
		Start string `json:"start_time"`
		End   string `json:"end_time"`
	}
	if err := json.Unmarshal(mustRead(t, filepath.Join(dir, "profile_export_aiperf.json")), &window); err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		v, err := time.Parse("2006-01-02T15:04:05.999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	f, err := os.Open(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var requests, tokens, good float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r struct {
			Error   any
			Metrics map[string]struct{ Value any }
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Error != nil {
			continue
		}
		requests++
		tokens += r.Metrics["output_sequence_length"].Value.(float64)
		if r.Metrics["request_latency"].Value.(float64) <= limit {
			good++
		}
	}
	s := at(window.End).Sub(at(window.Start)).Seconds()
	return map[string]float64{
		"request_throughput": requests / s, "output_token_throughput": tokens / s,
		"goodput": good / s,
	}
}

// summaryRates are those that AIPerf's summary says.
func summaryRates(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(mustRead(t, filepath.Join(dir, "profile_export_aiperf.json")), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, tag := range []string{"request_throughput", "output_token_throughput", "goodput"} {
		var m struct{ Avg float64 }
		if err := json.Unmarshal(all[tag], &m); err != nil {
			t.Fatalf("%s: %v", tag, err)
		}
		out[tag] = m.Avg
	}
	return out
}

// ratesOfTable are the rates of requests.csv over the two windows of runs.csv.
func ratesOfTable(t *testing.T, dir string, limit float64) (full, steady map[string]float64) {
	t.Helper()
	run := csvRows(t, dir, "runs")[0]
	rates := func(from, to float64, weight func(sent, end float64) float64) map[string]float64 {
		out := map[string]float64{}
		for _, r := range csvRows(t, dir, "requests") {
			if r["status"] != "ok" || r["in_window"] != "true" {
				continue
			}
			w := weight(number(t, r["sent_ns"]), number(t, r["end_ns"])) / ((to - from) / 1e9)
			out["request_throughput"] += w
			out["output_token_throughput"] += w * number(t, r["osl"])
			judged := "latency_ms"
			if r["open_loop"] == "true" {
				judged = "latency_from_intended_ms"
				if number(t, r["latency_ms"]) <= limit {
					out["goodput_from_sent"] += w
				}
			}
			if number(t, r[judged]) <= limit {
				out["goodput"] += w
			}
		}
		return out
	}
	full = rates(number(t, run["window_start_ns"]), number(t, run["window_end_ns"]),
		func(float64, float64) float64 { return 1 })
	from, to := number(t, run["steady_start_ns"]), number(t, run["steady_end_ns"])
	steady = rates(from, to, func(sent, end float64) float64 {
		return max(0,
			min(end, to)-max(sent, from)) / (end - sent)
	})
	return full, steady
}

// writtenRates are the run's rates in the table metrics, by window and metric.
func writtenRates(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, r := range csvRows(t, dir, "metrics") {
		if r["level"] == "run" && r["part"] == "" && r["stat"] == "avg" && r["value"] != "" {
			out[r["span"]+" "+r["metric"]] = number(t, r["value"])
		}
	}
	return out
}

// csvRows are the rows of a table.
func csvRows(t *testing.T, dir, name string) (list []map[string]string) {
	t.Helper()
	var b bytes.Buffer
	if err := sinks.Export(dir, "csv", name, &b); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%s: %v, %d lines", name, err, len(lines))
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, column := range lines[0] {
			row[column] = line[i]
		}
		list = append(list, row)
	}
	return list
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
