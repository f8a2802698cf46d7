package aiperf

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/sinks"
)

// Names are the file names of a run's AIPerf files.
type Names struct {
	JSON, CSV, Records, Inputs, Ready     string
	Raw, Outputs, Console                 string
	SlicesJSON, SlicesCSV, Phases, Config string
	PagesJSON, PagesCSV                   string // of server metrics
	PagesJSONL, PagesParquet              string
	GPUs, Network                         string
	Scales                                string // of phases that raise their own load
	Answers, Scores                       string // to questions with known answers
}

// prefixSuffixes are what is taken off a prefix that was given as a file name, longest first.
func prefixSuffixes() []string {
	return []string{
		"_server_metrics.parquet", "_network_latency.jsonl", "_server_metrics.jsonl",
		"_gpu_telemetry.jsonl", "_server_metrics.json", "_accuracy.jsonl",
		"_server_metrics.csv", "_timeslices.json", "_timeslices.csv", "_console.txt", "_raw.jsonl", ".parquet",
		".jsonl", ".json", ".csv",
	}
}

// ProfileNames are the names for artifacts.prefix; "" means AIPerf's own.
// Known suffixes of the prefix are taken off: run1.json and run1 are the same.
// Of an absolute path only the last part counts, as on AIPerf's command line; a
// relative one leads to a folder of the result directory.
func ProfileNames(prefix string) (Names, error) {
	n := Names{
		JSON: "profile_export_aiperf.json", CSV: "profile_export_aiperf.csv", Records: "profile_export.jsonl",
		Inputs: "inputs.json", Ready: ".aiperf_results_ready.json",
		Raw: "profile_export_raw.jsonl", Outputs: "outputs.json", Console: "profile_export_console.txt",
		SlicesJSON: "profile_export_aiperf_timeslices.json", SlicesCSV: "profile_export_aiperf_timeslices.csv",
		Phases: "phase_manifest.json", Config: "run_config.json", Scales: "adaptive_scale_manifest.json",
		Answers: "accuracy_export.jsonl", Scores: "accuracy_results.csv",
	}
	n.pages("server_metrics_export")
	n.GPUs, n.Network = "gpu_telemetry_export.jsonl", "profile_export_network_latency.jsonl"
	if prefix == "" {
		return n, nil
	}
	p := ownPrefix(prefix)
	for _, s := range prefixSuffixes() {
		if strings.HasSuffix(p, s) {
			p = strings.TrimSuffix(p, s)
			break
		}
	}
	last := p[strings.LastIndex(p, "/")+1:]
	p = path.Clean(p)
	first, _, _ := strings.Cut(p, "/")
	switch {
	case last == "" || last == "." || last == "..":
		return n, fmt.Errorf("%q leaves no file name", prefix)
	case !filepath.IsLocal(p) || strings.ContainsAny(p, "\\\x00"):
		return n, fmt.Errorf("%q is not a path inside the result directory (artifacts.dir)", prefix)
	case reserved(p) || p != first && reserved(first):
		return n, fmt.Errorf("%q would replace another file of the result directory", prefix)
	}
	n.JSON, n.CSV, n.Records = p+".json", p+".csv", p+".jsonl"
	n.Raw, n.Console = p+"_raw.jsonl", p+"_console.txt"
	n.SlicesJSON, n.SlicesCSV = p+"_timeslices.json", p+"_timeslices.csv"
	n.pages(p + "_server_metrics")
	n.GPUs, n.Network = p+"_gpu_telemetry.jsonl", p+"_network_latency.jsonl"
	n.Answers = p + "_accuracy.jsonl"
	return n, nil
}

// pages names the files of server metrics.
func (n *Names) pages(stem string) {
	n.PagesJSON, n.PagesCSV, n.PagesJSONL, n.PagesParquet = stem+".json", stem+".csv", stem+".jsonl", stem+".parquet"
}

// ownPrefix is artifacts.prefix without the directory of an absolute path.
func ownPrefix(prefix string) string {
	if path.IsAbs(prefix) || filepath.IsAbs(prefix) {
		return filepath.Base(prefix)
	}
	return prefix
}

// reserved are the stems of files, and the folders, that stand beside the profile
// exports.
func reserved(p string) bool {
	for _, s := range append(sinks.TableNames(), "inputs", "manifest", "summary", "resolved", "journal", "plan.lock",
		"run_config", "phase_manifest", "adaptive_scale_manifest", "accuracy_results", ".aiperf_results_ready",
		"aggregate", "incomplete", "logs", "phases", "plots", "profile_runs", "sweep_aggregate") {
		if p == s {
			return true
		}
	}
	return false
}

// All are the names, also those of files that are not always written.
func (n Names) All() []string {
	return []string{
		n.JSON, n.CSV, n.Records, n.Inputs, n.Ready, n.Raw, n.Outputs, n.Console, n.SlicesJSON, n.SlicesCSV, n.Phases,
		n.Config, n.Scales,
		n.PagesJSON, n.PagesCSV, n.PagesJSONL, n.PagesParquet, n.GPUs, n.Network,
		n.Answers, n.Scores,
	}
}
