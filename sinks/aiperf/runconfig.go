package aiperf

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"aiperf.dev/aiperf/sinks"
)

// WriteRunConfig writes run_config.json, which several runs and the cells of a
// sweep have: what this run was, with every default.
func WriteRunConfig(dir string, info *RunInfo) (sinks.FileInfo, error) {
	const name = "run_config.json"
	full := info.Config
	full.Said = nil
	cfg, err := full.json()
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	variables := info.Variables
	if variables == nil {
		variables = json.RawMessage("{}")
	}
	o := object{}.with("benchmark_id", info.BenchmarkID).with("sweep_id", info.SweepID).with("cfg", cfg).
		with("variation", object{}.with("index", info.VariationIndex).with("label", info.VariationLabel).with("values",
			parameters(info.VariationValues))).
		with("trial", info.Trial).with("artifact_dir", info.Config.Dir).with("label", info.RunLabel).with("cli_command",
		info.CLICommand).
		with("random_seed", info.Seed).with("variables", variables).
		with("resolved", object{}.with("gpu_telemetry_mode", "summary").with("artifact_dir_created", false))
	b, err := indented(o)
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return sinks.WriteArtifact(dir, name, "run", b)
}
