package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Outcome is what a simulated plan gave, beside the truth.
type Outcome struct {
	*runner.Result
	Servers map[string][]mockserver.Entry // by URL: what each server logged
}

// Run carries out the experiment in text, a YAML file, in folder dir, against
// the built-in servers that it names, in virtual time.
func Run(text, dir string) (*Outcome, error) { return RunPaced(text, dir, nil) }

// RunStalled is Run with a client that stands still at times, see Worlds.Stall.
func RunStalled(text, dir string, stall func(run int) []Pause) (*Outcome, error) {
	return runText(text, dir, &Worlds{Stall: stall})
}

// RunPaced is Run with servers whose times differ from run to run, see Worlds.Pace.
func RunPaced(text, dir string, pace func(url string, run int) float64) (*Outcome, error) {
	return runText(text, dir, &Worlds{Pace: pace})
}

// RunUnlogged is RunPaced without the servers' logs, which take a quarter of the time.
func RunUnlogged(text, dir string, pace func(url string, run int) float64) (*Outcome, error) {
	return runText(text, dir, &Worlds{Pace: pace, unlogged: true})
}

func runText(text, dir string, worlds *Worlds) (*Outcome, error) {
	file := filepath.Join(dir, fileName)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return runFile(file, dir, worlds)
}

// RunFile carries out the experiment in a file, and leaves its results in folder
// dir.
func RunFile(file, dir string) (*Outcome, error) { return runFile(file, dir, &Worlds{}) }

func runFile(file, dir string, worlds *Worlds, set ...schema.Assignment) (*Outcome, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plan, err := expand(file, set...)
	if err != nil {
		return nil, err
	}
	logs := map[string]*bytes.Buffer{}
	if !worlds.unlogged {
		worlds.Log = func(url string) *bytes.Buffer {
			logs[url] = &bytes.Buffer{}
			return logs[url]
		}
	}
	var driver onerun.Driver = onerun.Simulated{World: worlds.Open}
	if worlds.Scrape {
		driver = scraped{onerun.Simulated{World: worlds.Open}, worlds}
	}
	if len(worlds.exporters) > 0 {
		driver = shown{driver, worlds.exporters}
	}
	res, err := runner.Run(context.Background(), context.Background(), plan, runner.Options{
		Dir: filepath.Join(dir, "results"), Source: text, SourceName: file, SourceEnding: filepath.Ext(file),
		Version: "simulation", Driver: driver,
		AIPerf: plan.Cells[0].Resolved.Benchmark.Artifacts.AIPerf != nil &&
			*plan.Cells[0].Resolved.Benchmark.Artifacts.AIPerf,
	})
	if err != nil {
		return nil, err
	}
	if err := worlds.Close(); err != nil {
		return nil, err
	}
	out := &Outcome{Result: res, Servers: map[string][]mockserver.Entry{}}
	for url, b := range logs {
		if out.Servers[url], err = entries(b); err != nil {
			return nil, fmt.Errorf("log of %s: %w", url, err)
		}
	}
	return out, nil
}

// shown is a driver whose runs are shown to exporters.
type shown struct {
	onerun.Driver
	to []onerun.Exporter
}

// Drive carries out a run.
func (d shown) Drive(issue, hard context.Context, run *onerun.Opened, s *onerun.Session) (*onerun.Result, error) {
	s.Exporters = append(s.Exporters, d.to...)
	return d.Driver.Drive(issue, hard, run, s)
}

// fileName is that of the experiment in its folder.
const fileName = "experiment.yaml"

// expand is the plan of the experiment in a file.
func expand(file string, set ...schema.Assignment) (*sweep.Plan, error) {
	doc, err := schema.Load(schema.Source{File: file, Command: "run", Assignments: set})
	if err != nil {
		return nil, err
	}
	return sweep.Expand(doc)
}

// entries reads a log.
func entries(b *bytes.Buffer) (list []mockserver.Entry, err error) {
	lines := bufio.NewScanner(b)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e mockserver.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, lines.Err()
}
