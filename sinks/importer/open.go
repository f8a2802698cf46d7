package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	says "aiperf.dev/aiperf/internal/words"
)

// Format is one tool whose files are read.
type Format struct {
	Tool string // key in the definitions: "vllm"
	Name string // what people call it
	// knows reports whether a file is the tool's, by how it begins.
	knows func(h *head) bool
	// stepped tells that its percentiles are values that occurred: they are not worked out
	// again, since tools differ in which value they take.
	stepped bool
	// read adds the runs of the files that knows took, in the order of their names.
	read func(files []found, res *Result) error
}

// found is a file that a format knows.
type found struct {
	full string
	rel  string // from what was opened, with slashes
	head *head
}

// Formats are all of them. A file is read by the first that knows it.
func Formats() []Format {
	return []Format{
		{Tool: "aiperf", Name: "AIPerf", knows: knowsAIPerf, read: readAIPerf},
		{Tool: "vllm", Name: "vLLM bench serve", knows: knowsVLLM, read: each(readVLLM)},
		{Tool: "sglang", Name: "SGLang bench_serving", knows: knowsSGLang, read: each(readSGLang)},
		{Tool: "guidellm", Name: "guidellm", knows: knowsGuideLLM, stepped: true, read: each(readGuideLLM)},
		{Tool: "genai-perf", Name: "GenAI-Perf", knows: knowsGenAIPerf, read: readGenAIPerf},
		{Tool: "inference-perf", Name: "inference-perf", knows: knowsInferencePerf, read: readInferencePerf},
		{Tool: "llm-d", Name: "llm-d benchmark report", knows: knowsLLMD, read: each(readLLMD)},
		{Tool: "endpoints", Name: "mlcommons endpoints", knows: knowsEndpoints, read: each(readEndpoints)},
		{Tool: "genai-bench", Name: "genai-bench", knows: knowsGenAIBench, read: each(readGenAIBench)},
	}
}

// each is a reader of files that have one or several runs each.
func each(read func(path string, res *Result) error) func([]found, *Result) error {
	return func(files []found, res *Result) error {
		for _, f := range files {
			if err := read(f.full, res); err != nil {
				return named(f, err)
			}
		}
		return nil
	}
}

// named adds the file that an error is about, where it is one of several.
func named(f found, err error) error {
	if f.rel == "" {
		return err
	}
	return fmt.Errorf("%s: %w", f.rel, err)
}

const (
	deepest   = 4       // levels of folders below the one that is opened
	mostFiles = 200_000 // that are looked at
)

// errNothing says that no format knows anything there.
var errNothing = errors.New("holds no results")

// Open reads a file, the files of one tool below a folder, or a directory that Write made.
func Open(path string) (*Result, error) {
	if r, ok, err := reopen(path); ok {
		return r, err
	}
	format, files, err := look(path, "")
	if err != nil {
		return nil, refuse(path, err)
	}
	return format.open(path, files)
}

// OpenAs is Open for the files of one tool, others beside them left alone.
func OpenAs(tool, path string) (*Result, error) {
	format, files, err := look(path, tool)
	if err != nil {
		return nil, refuse(path, err)
	}
	return format.open(path, files)
}

// Identify names the tool whose results lie at path.
func Identify(path string) (string, error) {
	var ix Index
	if resultdir.ReadJSON(filepath.Join(path, IndexName), &ix) == nil && ix.Schema == indexSchema {
		return ix.Name, nil
	}
	format, _, err := look(path, "")
	if err != nil {
		return "", refuse(path, err)
	}
	return format.Name, nil
}

// refuse names the path, and what could be tried.
func refuse(path string, err error) error {
	hint := "the file is damaged: copy it again, or let its tool write it again"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err, hint = errors.New("no such file or directory"), "name a result file, or the folder that holds it"
	case errors.Is(err, errNothing):
		hint = "name a directory of aiperf's, with " + resultdir.ManifestName + ", or a result of " + clients()
		if inside := resultdir.Inside(path); inside != "" {
			hint = "results lie in " + says.Clip(inside, 200) + ": name that"
		}
	case errors.Is(err, errStrange):
		hint = "name a result directory, or a file of " + clients()
	case errors.Is(err, errSeveral):
		hint = "name the files of one of them"
	}
	return &diag.Error{Place: says.Clip(path, 200), Message: says.Clip(err.Error(), 300), Hint: hint, Cause: err}
}

// clients are the tools whose results are read.
func clients() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// errStrange says that a file is nobody's.
var errStrange = errors.New("is not a result of a benchmark client that aiperf knows")

var errSeveral = errors.New("results of several tools")

// look finds the files of one tool at path: of the one that is named, or of whichever it is.
func look(path, tool string) (Format, []found, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Format{}, nil, err
	}
	var names []string
	if names = []string{""}; st.IsDir() {
		if names, err = candidates(path); err != nil {
			return Format{}, nil, err
		}
	} else if !st.Mode().IsRegular() {
		return Format{}, nil, errors.New("is neither a file nor a folder")
	}
	formats := Formats()
	of := make([][]found, len(formats))
	var bad error
	for _, rel := range names {
		f := found{full: filepath.Join(path, filepath.FromSlash(rel)), rel: rel}
		if f.head, err = readHead(f.full); err != nil {
			return Format{}, nil, err
		}
		if i := slices.IndexFunc(formats, func(x Format) bool { return x.knows(f.head) }); i >= 0 {
			of[i] = append(of[i], f)
		} else if f.head.bad != nil && bad == nil {
			bad = named(f, f.head.bad)
		}
	}
	var there []int
	for i := range formats {
		if len(of[i]) > 0 && (tool == "" || formats[i].Tool == tool) {
			there = append(there, i)
		}
	}
	if len(there) == 2 { // a report that was made of the files beside it
		there = slices.DeleteFunc(there, func(i int) bool { return formats[i].Tool == "llm-d" })
	}
	switch {
	case len(there) == 0 && bad != nil:
		return Format{}, nil, bad
	case len(there) == 0 && !st.IsDir():
		return Format{}, nil, errStrange
	case len(there) == 0:
		return Format{}, nil, errNothing
	case len(there) > 1:
		a, b := there[0], there[1]
		return Format{}, nil, fmt.Errorf("%w: %s is of %s, %s of %s", errSeveral, of[a][0].rel, formats[a].Name,
			of[b][0].rel, formats[b].Name)
	}
	return formats[there[0]], of[there[0]], nil
}

// ours are folders of results that hold no run, or copies of one.
var ours = []string{"aggregate", "sweep_aggregate", "phases", "logs", resultdir.AsideName}

// beside are files without figures that clients write into every folder of a run.
var beside = []string{
	"inputs.json", "outputs.json", "run_config.json", "server_metrics_export.json", "server_metrics_export.jsonl",
	"server_metrics_export.csv", "gpu_telemetry_export.jsonl", "phase_manifest.json", resultdir.ReportName,
	resultdir.ReportsName, resultdir.ManifestName, resultdir.LockName, resultdir.JournalName, resultdir.ResolvedName,
	resultdir.AnswerName,
}

// endings are those of the files that are looked into.
var endings = []string{".json", ".jsonl", ".csv", ".yaml", ".yml"}

// candidates are the files below dir that may be results, from dir, in order.
func candidates(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(full string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case e.IsDir():
			if rel != "." && (strings.Count(rel, "/") >= deepest || slices.Contains(ours, e.Name()) ||
				strings.HasPrefix(e.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		case !e.Type().IsRegular() || !slices.Contains(endings, filepath.Ext(rel)) ||
			strings.HasPrefix(e.Name(), ".") || slices.Contains(beside, e.Name()):
			return nil
		case len(names) == mostFiles:
			return fmt.Errorf("more than %d files", mostFiles)
		}
		names = append(names, rel)
		return nil
	})
	return names, err
}

// open reads the files, and relates their figures to ours.
func (f *Format) open(path string, files []found) (*Result, error) {
	res := &Result{Path: path, Tool: f.Tool, Name: f.Name}
	if err := f.read(files, res); err != nil {
		return nil, refuse(path, err)
	}
	if len(res.Runs) == 0 {
		return nil, refuse(path, fmt.Errorf("%s's file holds no run", f.Name))
	}
	for _, x := range files {
		sum, n, err := resultdir.Digest(x.full)
		if err != nil {
			return nil, refuse(path, err)
		}
		res.Files = append(res.Files, File{Path: x.rel, Bytes: n, SHA256: sum})
	}
	res.number()
	for i := range res.Runs {
		if res.Version == "" {
			res.Version = res.Runs[i].Version
		}
		res.Runs[i].stepped = f.stepped
		res.Runs[i].relate(f.Tool, cmp.Or(res.Runs[i].Version, res.Version))
	}
	return res, nil
}

// number orders the runs, and gives runs of one cell the trials that their files leave open.
func (r *Result) number() {
	slices.SortStableFunc(r.Runs, func(a, b Run) int {
		return cmp.Or(strings.Compare(a.Label, b.Label), a.Trial-b.Trial, a.Began.Compare(b.Began))
	})
	for i := 1; i < len(r.Runs); i++ {
		if a, b := &r.Runs[i-1], &r.Runs[i]; a.Label == b.Label && b.Trial <= a.Trial {
			b.Trial = a.Trial + 1
		}
	}
}
