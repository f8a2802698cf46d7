package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// IndexName is the file that makes a directory one of imported results: what was read,
// with every figure as it stands in the originals.
const IndexName = "import.json"

// AuditName is the audit of the client that an imported result carries, where it was given one.
const AuditName = "audit.json"

// indexSchema names its form.
const indexSchema = "aiperf.import/1"

// originals is the folder of the files as they were, a numbered one for each path.
const originals = "original"

// Index is what IndexName holds.
type Index struct {
	Schema  string        `json:"schema"`
	Tool    string        `json:"tool"`
	Name    string        `json:"name"`
	Version string        `json:"version,omitempty"`
	Files   []IndexedFile `json:"files"`
	Runs    []IndexedRun  `json:"runs"`
	Notes   []string      `json:"notes,omitempty"`
	Audited bool          `json:"audited,omitempty"` // AuditName lies beside
}

// IndexedFile is one of the originals, where it lies now.
type IndexedFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// IndexedRun is one run.
type IndexedRun struct {
	Cell         string            `json:"cell"`
	Trial        int               `json:"trial"`
	Settings     map[string]string `json:"settings,omitempty"`
	OK           int64             `json:"ok"`
	Failed       int64             `json:"failed"`
	Error        string            `json:"error,omitempty"`
	Recomputable bool              `json:"recomputable"`
	Figures      []IndexedFigure   `json:"figures"`
}

// IndexedFigure is a figure with what the definitions say of it.
type IndexedFigure struct {
	Key      string   `json:"key"`
	Metric   string   `json:"metric"`
	Stat     string   `json:"stat,omitempty"`
	Value    float64  `json:"value"`
	Ours     string   `json:"ours,omitempty"`
	Relation Relation `json:"relation,omitempty"`
}

// OpenAll reads several results of one tool as one: runs of one cell are its trials.
func OpenAll(paths []string) (*Result, error) {
	r, _, err := openAll(paths)
	return r, err
}

// openAll also gives the files of each path.
func openAll(paths []string) (all *Result, files [][]File, err error) {
	for _, p := range paths {
		r, err := Open(p)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, r.Files)
		switch {
		case all == nil:
			all = r
			continue
		case r.Tool != all.Tool:
			return nil, nil, &diag.Error{
				Place: p, Message: fmt.Sprintf("is of %s, and %s of %s", r.Name, paths[0], all.Name),
				Hint: "import each tool into a directory of its own",
			}
		}
		all.Runs, all.Version = append(all.Runs, r.Runs...), cmp.Or(all.Version, r.Version)
		for _, n := range r.Notes {
			all.note("%s", n)
		}
	}
	all.number()
	return all, files, nil
}

// Write imports paths into dir, which must be new or empty: the originals, an index of
// every figure, and ordinary tables. audit is that of the client, nil for none.
func Write(paths []string, dir, version string, audit []byte) (*Result, error) {
	res, files, err := openAll(paths)
	if err != nil {
		return nil, err
	}
	if held, err := os.ReadDir(dir); err == nil && len(held) > 0 {
		return nil, &diag.Error{Place: dir, Message: "holds files already", Hint: "name a new directory with -o"}
	}
	ix := Index{Schema: indexSchema, Tool: res.Tool, Name: res.Name, Version: res.Version, Notes: res.Notes}
	for i, p := range paths {
		if err := ix.keep(p, files[i], dir, path.Join(originals, strconv.Itoa(i+1))); err != nil {
			return nil, err
		}
	}
	if ix.Audited = audit != nil; ix.Audited {
		if err := os.WriteFile(filepath.Join(dir, AuditName), audit, 0o644); err != nil {
			return nil, err
		}
	}
	for i := range res.Runs {
		ix.Runs = append(ix.Runs, indexed(&res.Runs[i]))
	}
	if err := resultdir.WriteJSON(filepath.Join(dir, IndexName), ix); err != nil {
		return nil, err
	}
	t := tables{res: res, dir: dir, version: version}
	rows, err := t.write()
	if err != nil {
		return nil, err
	}
	d := resultdir.Dir{Path: dir}
	return res, d.WriteManifest(resultdir.Manifest{
		Tool: version, Experiment: t.plan.Name, PlanHash: t.plan.Hash, Finished: time.Now().UTC(),
		Conclusions: []string{"imported from " + res.Own()},
	}, rows, nil)
}

// keep copies the files of a path to a folder of dir.
func (ix *Index) keep(from string, files []File, dir, folder string) error {
	for _, f := range files {
		rel, full := f.Path, filepath.Join(from, filepath.FromSlash(f.Path))
		if rel == "" {
			rel, full = filepath.Base(from), from
		}
		to := path.Join(folder, rel)
		if err := copyFile(full, filepath.Join(dir, filepath.FromSlash(to))); err != nil {
			return err
		}
		ix.Files = append(ix.Files, IndexedFile{to, f.Bytes, f.SHA256})
	}
	return nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func indexed(r *Run) IndexedRun {
	out := IndexedRun{
		Cell: r.Label, Trial: r.Trial, OK: r.OK, Failed: r.Failed, Error: r.Err, Recomputable: r.Each != nil,
	}
	for _, s := range r.Settings {
		if out.Settings == nil {
			out.Settings = map[string]string{}
		}
		out.Settings[s.Name] = s.Value
	}
	for _, f := range r.Figures {
		x := IndexedFigure{Key: f.Key, Metric: f.Metric, Stat: f.Stat, Value: f.Value}
		if d, ok := r.define(f.Metric); ok && d.Ours != "-" {
			x.Ours, x.Relation = d.Ours, d.Relation
		}
		if metrics.Finite(f.Value) {
			out.Figures = append(out.Figures, x)
		}
	}
	return out
}

// Holds reports whether Write made a directory.
func Holds(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IndexName))
	return err == nil
}

// reopen reads a directory that Write made, from its originals; false where it is none.
func reopen(dir string) (*Result, bool, error) {
	if !Holds(dir) {
		return nil, false, nil
	}
	var ix Index
	if err := resultdir.ReadJSON(filepath.Join(dir, IndexName), &ix); err != nil {
		return nil, true, refuse(dir, err)
	}
	if ix.Schema != indexSchema {
		return nil, true, refuse(dir, fmt.Errorf("written in %q, this program reads %q", ix.Schema, indexSchema))
	}
	var paths []string
	for _, f := range ix.Files {
		parts := strings.SplitN(f.Path, "/", 3)
		if len(parts) != 3 || parts[0] != originals || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, true, refuse(dir, fmt.Errorf("%s: %q lies outside its originals", IndexName, f.Path))
		}
		sum, _, err := resultdir.Digest(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || sum != f.SHA256 {
			return nil, true, refuse(dir, fmt.Errorf("%s is not the file that was imported", f.Path))
		}
		if p := filepath.Join(dir, parts[0], parts[1]); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return nil, true, refuse(dir, fmt.Errorf("%s lists no file", IndexName))
	}
	res, err := OpenAll(paths)
	if err != nil {
		return nil, true, err
	}
	res.Path = dir
	if audit := filepath.Join(dir, AuditName); ix.Audited {
		res.Audit = audit
	}
	return res, true, nil
}

// tables are those of imported results.
type tables struct {
	res     *Result
	dir     string
	version string
	plan    *sweep.Plan
	cellOf  map[string]int
	in      sinks.TablesInput
}

// reported is the method of a figure that another tool worked out.
const reported = "reported"

func (t *tables) write() (map[string]int64, error) {
	t.plan = &sweep.Plan{Name: "imported-" + t.res.Tool, Type: "none", Trials: 1}
	t.cellOf = map[string]int{}
	hash := ""
	for i := range t.res.Runs {
		r := &t.res.Runs[i]
		t.plan.Trials = max(t.plan.Trials, r.Trial+1)
		if _, ok := t.cellOf[r.Label]; ok {
			continue
		}
		t.cellOf[r.Label] = len(t.plan.Cells)
		c := &sweep.Cell{ID: idOf(r.Label), Index: len(t.plan.Cells), Label: r.Label, Point: point(r)}
		hash += c.ID
		t.plan.Cells = append(t.plan.Cells, c)
	}
	t.plan.Hash = idOf(hash)
	tmp, err := os.MkdirTemp(t.dir, ".import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // its own
	t.in = sinks.TablesInput{Plan: t.plan, Version: t.version, Verdict: "none", Host: "{}"}
	for i := range t.res.Runs {
		if err := t.add(&t.res.Runs[i], filepath.Join(tmp, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	if t.in.T0.IsZero() {
		t.in.T0 = time.Unix(0, 0)
	}
	for _, c := range t.plan.Cells {
		t.in.Cells = append(t.in.Cells, t.cell(c))
	}
	info, err := sinks.WriteTables(t.dir, t.in)
	if err != nil {
		return nil, err
	}
	rows := map[string]int64{}
	for _, f := range info.Files {
		rows[f.Path] = f.Rows
	}
	return rows, nil
}

// axes are the settings that tables have a column for.
var axes = map[string]string{
	"phases.0.concurrency": "concurrency", "phases.0.rate": "request_rate", "endpoint.type": "endpoint",
}

func point(r *Run) (out []sweep.Value) {
	for _, s := range r.Settings {
		axis := axes[s.Name]
		if axis == "" {
			continue
		}
		v := sweep.Value{Axis: axis, Path: s.Name, Value: s.Value}
		if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil && axis == "concurrency" {
			v.Value = n
		} else if f, err := strconv.ParseFloat(s.Value, 64); err == nil {
			v.Value = f
		}
		out = append(out, v)
	}
	if r.Model != "" {
		out = append(out, sweep.Value{Axis: "model", Value: r.Model})
	}
	return out
}

// add makes the rows of a run, and the journal of its requests.
func (t *tables) add(r *Run, journal string) error {
	place := sinks.Place{Cell: t.cellOf[r.Label], Trial: r.Trial}
	row := sinks.RunRow{
		Place: place, Started: record.None, Ended: record.None, Planned: record.None, Sent: r.Sent(), OK: r.OK,
		Failed: r.Failed, WindowStart: record.None, WindowEnd: record.None, SteadyStart: record.None,
		SteadyEnd: record.None, Seed: record.None, ClientCPU: math.NaN(), Verdict: "none", Attempt: record.None,
		Sentinel: record.None, Probe: record.None, Path: originals, Replay: sinks.NoReplay(),
	}
	if !r.Began.IsZero() {
		row.Started = r.Began.UnixNano()
	}
	t.in.Runs = append(t.in.Runs, row)
	for i := range r.Stats {
		t.in.Metrics = append(t.in.Metrics, metricRows(&r.Stats[i], place)...)
	}
	t.in.Checks = append(t.in.Checks, t.recomputable(r, place))
	if r.Each == nil {
		return nil
	}
	return t.journal(r, place, journal)
}

// recomputable is the row that says whether the figures can be worked out again.
func (t *tables) recomputable(r *Run, place sinks.Place) sinks.CheckRow {
	c := sinks.CheckRow{
		Place: place, Level: "run", Check: "recomputable", Kind: "precision", Severity: "none", Verdict: "pass",
		Value: math.NaN(), Limit: math.NaN(), Detail: "the originals hold every request",
	}
	if r.Each == nil {
		c.Verdict = "unknown"
		c.Detail = "cannot be recomputed: the original is a summary and holds no single request"
	}
	return c
}

func metricRows(st *metrics.Stat, place sinks.Place) (out []sinks.MetricRow) {
	better := "lower"
	if m, ok := metrics.Lookup(st.Tag); ok && m.LargerIsBetter {
		better = "higher"
	}
	for _, name := range metrics.StatNames() {
		v := st.Value(name)
		if !metrics.Finite(v) || name == "count" || name == "n_effective" || st.Scalar && name != "avg" {
			continue
		}
		row := sinks.MetricRow{
			Place: place, Level: "run", Window: "full", Metric: st.Tag, Stat: name, Value: v, Unit: st.Unit,
			Low: math.NaN(), High: math.NaN(), CV: math.NaN(), N: record.None, NEff: math.NaN(),
			Certified: record.None, Method: reported, Better: better,
		}
		if st.Count > 0 {
			row.N = st.Count
		}
		out = append(out, row)
	}
	return out
}

// cell is the row of a cell: its figures are those of its only run, else their mean.
func (t *tables) cell(c *sweep.Cell) sinks.CellRow {
	nan := math.NaN()
	row := sinks.CellRow{
		Place: sinks.Place{Cell: c.Index, Trial: sinks.All}, Verdict: "none", Pareto: record.None, Knee: record.None,
		CurveGood: nan, CurveRate: nan,
	}
	figures := sinks.CellFigures()
	sums, counts := make([]float64, len(figures)), make([]float64, len(figures))
	for i := range t.res.Runs {
		r := &t.res.Runs[i]
		if t.cellOf[r.Label] != c.Index {
			continue
		}
		row.Trials++
		row.N += r.OK
		for k, f := range figures {
			for _, st := range r.Stats {
				if v := st.Value(f.Stat); st.Tag == f.Tag && metrics.Finite(v) {
					sums[k] += v
					counts[k]++
				}
			}
		}
	}
	for k := range figures {
		row.Figures = append(row.Figures, sinks.Figure{Value: sums[k] / counts[k], Low: nan, High: nan})
	}
	return row
}

// journal writes the requests of a run as records: moments from the first of them on.
func (t *tables) journal(r *Run, place sinks.Place, name string) error {
	first := math.Inf(1)
	if err := r.Each(func(q *Request) error {
		if q.Sent < first {
			first = q.Sent
		}
		return nil
	}); err != nil {
		return err
	}
	t0 := r.Began
	if first > 1e18 && !math.IsInf(first, 1) { // a clock that counts from 1970
		t0 = time.Unix(0, int64(first))
	}
	if t0.IsZero() {
		t0 = time.Unix(0, 0)
	}
	if t.in.T0.IsZero() || t0.Before(t.in.T0) {
		t.in.T0 = t0
	}
	j, err := sinks.NewJournal(name, sinks.RunMeta{
		Experiment: t.plan.Name, Plan: t.plan.Hash, Cell: t.plan.Cells[place.Cell].ID, CellIndex: place.Cell,
		Trial: place.Trial, T0: t0, Version: t.version,
	})
	if err != nil {
		return err
	}
	n := int64(0)
	err = r.Each(func(q *Request) error {
		x := recordOf(q, first)
		x.RequestID, x.Model = n, r.Model
		n++
		return j.Write(&x)
	})
	t.in.Journals = append(t.in.Journals, sinks.RunJournal{
		Place: place, Path: name, SteadyStart: record.None, SteadyEnd: record.None,
	})
	return errors.Join(err, j.Close())
}

// statuses are those of requests, as records have them.
var statuses = map[string]record.Status{
	"ok": record.OK, "cancelled": record.Cancelled, "error": record.HTTPError,
}

func recordOf(q *Request, first float64) record.Record {
	x := record.New()
	x.Phase, x.Measured, x.InWindow = "profiling", true, true
	x.Status, x.ErrorKind, x.ErrorMessage = statuses[q.Status], q.ErrorKind, q.ErrorMessage
	x.Intended, x.Sent, x.End = stamp(q.Intended-first), stamp(q.Sent-first), stamp(q.End-first)
	if x.Intended == record.None {
		x.Intended = x.Sent
	}
	sent := q.Sent - first
	if math.IsNaN(sent) {
		sent = 0 // the file has no moments: times alone
		x.Sent, x.Intended = 0, 0
	}
	x.FirstToken, x.LastToken = stamp(sent+1e6*q.TTFT), stamp(sent+1e6*q.Latency)
	x.FirstOutput = x.FirstToken
	if x.End == record.None {
		x.End = x.LastToken
	}
	x.ISL, x.OSL, x.UsagePrompt = stamp(q.ISL), stamp(q.OSL), stamp(q.UsagePrompt)
	x.Streamed = !math.IsNaN(q.TTFT)
	return x
}

// stamp is a whole number, none for what is not known.
func stamp(v float64) int64 {
	if !metrics.Finite(v) || math.Abs(v) > 1e18 {
		return record.None
	}
	return int64(math.Round(v))
}
