package sinks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/sweep"
)

// TablesInput is everything the tables of one experiment are made of.
type TablesInput struct {
	Plan    *sweep.Plan
	T0      time.Time // the experiment's zero; every *_ns in the tables counts from it
	Version string    // of the program
	Verdict string
	Host    string   // what the runner knows about the machine, as JSON
	Formats []string // parquet is always written; none named: see wants
	Chunks  bool     // write the chunks table

	Journals []RunJournal // samples over time are in files beside them; see Series
	Runs     []RunRow
	Cells    []CellRow
	Metrics  []MetricRow
	Checks   []CheckRow
}

// TablesInfo is what was written and what was found in the journals.
type TablesInfo struct {
	Files    []FileInfo
	Journals []JournalInfo // in the order of the tables: by cell and trial
}

// Tables are the names of the tables that were written, in the order of their listing.
func (info TablesInfo) Tables() []string {
	return slices.DeleteFunc(TableNames(), func(name string) bool {
		return !slices.ContainsFunc(info.Files,
			func(f FileInfo) bool { return strings.TrimSuffix(f.Path, filepath.Ext(f.Path)) == name })
	})
}

// WriteTables folds the journals and writes every table into dir. Each file is
// whole or absent.
func WriteTables(dir string, in TablesInput) (TablesInfo, error) {
	s := &tableSet{dir: dir, in: &in, id: newIdentity(in.Plan), codec: newCodec()}
	defer s.abort()
	for _, f := range in.Formats {
		if !slices.Contains(Formats(), f) {
			return TablesInfo{}, fmt.Errorf("tables: no format %q; there are %v", f, Formats())
		}
	}
	info, err := s.foldAll()
	if err != nil {
		return info, err
	}
	err = errors.Join(
		small(s, "runs", runColumns(), in.Runs, func(r *RunRow) Place { return r.Place }),
		small(s, "cells", cellColumns(), in.Cells, func(r *CellRow) Place { return Place{r.Cell, All} }),
		s.metrics(),
		small(s, "checks", checkColumns(), in.Checks, func(r *CheckRow) Place { return r.Place }),
	)
	for _, of := range series() {
		if err == nil {
			err = of.fold(s, inOrder(in.Journals))
		}
	}
	info.Files = s.files
	return info, err
}

// Formats are the formats a table can be written in.
func Formats() []string { return []string{"parquet", "arrow", "csv"} }

// tableSet is the files of one WriteTables.
type tableSet struct {
	dir   string
	in    *TablesInput
	id    *identity
	codec *codec
	open  map[string][]*Artifact // by table, until they are committed
	lanes []*lane                // into these
	only  []string               // formats that are written now; nil: all that are wanted
	files []FileInfo
}

// metrics writes the table metrics. Its CSV, which people open, has the cells; the
// rows of the runs are many more, and in the other formats.
func (s *tableSet) metrics() error {
	place := func(r *MetricRow) Place { return r.Place }
	s.only = []string{"parquet", "arrow"}
	err := small(s, "metrics", metricColumns(), s.in.Metrics, place)
	if err == nil && s.wants("metrics", "csv") {
		cells := slices.DeleteFunc(slices.Clone(s.in.Metrics), func(r MetricRow) bool { return r.Trial != All })
		s.only = []string{"csv"}
		err = small(s, "metrics", metricColumns(), cells, place)
	}
	s.only = nil
	return err
}

// outputs opens a table's files in every format that was asked for.
func (s *tableSet) outputs(name string, fs []Field) ([]*lane, error) {
	meta := s.meta(name)
	var outs []*lane
	for _, format := range Formats() {
		if !s.wants(name, format) || s.only != nil && !slices.Contains(s.only, format) {
			continue
		}
		a, err := CreateArtifact(s.dir, name+"."+format)
		if err != nil {
			return nil, err
		}
		if s.open == nil {
			s.open = map[string][]*Artifact{}
		}
		s.open[name] = append(s.open[name], a)
		o, err := newOutput(format, a, name, fs, meta, s.codec)
		if err != nil {
			return nil, err
		}
		l := newLane(o)
		s.lanes = append(s.lanes, l)
		outs = append(outs, l)
	}
	return outs, nil
}

// wants reports whether a table is written in a format. Where none is named, those of a row
// for each cell or run are written in all, requests as CSV, too, and the rest as Parquet
// alone, which all that read Arrow read.
func (s *tableSet) wants(table, format string) bool {
	switch {
	case format == "parquet":
		return true
	case len(s.in.Formats) > 0:
		return slices.Contains(s.in.Formats, format)
	case table == "requests":
		return format == "csv"
	}
	return table == "cells" || table == "runs"
}

func newOutput(
	format string, a io.WriteSeeker, name string, fs []Field, meta map[string]string, codec *codec,
) (output, error) {
	switch format {
	case "parquet":
		return newParquetOutput(a, name, fs, meta, codec), nil
	case "arrow":
		return newArrowOutput(a, fs, meta), nil
	case "csv":
		return newCSVOutput(a, name, fs), nil
	}
	return nil, fmt.Errorf("no format %q; there are %v", format, Formats())
}

// meta is a table's file metadata.
func (s *tableSet) meta(name string) map[string]string {
	type axis struct {
		Name string `json:"name"`
		Path string `json:"path"`
	}
	axes := []axis{}
	for _, a := range s.in.Plan.Axes {
		axes = append(axes, axis{"axis_" + axisName(a.Name), a.Path})
	}
	text, err := json.Marshal(axes)
	if err != nil {
		panic(err) // strings only
	}
	return map[string]string{
		"aiperf.schema":      schemaOf(name),
		"aiperf.version":     s.in.Version,
		"aiperf.experiment":  s.in.Plan.Name,
		"aiperf.plan_sha256": s.in.Plan.Hash,
		"aiperf.t0_unix_ns":  strconv.FormatInt(s.in.T0.UnixNano(), 10),
		"aiperf.verdict":     s.in.Verdict,
		"aiperf.axes":        string(text),
		"aiperf.host":        s.in.Host,
	}
}

func schemaOf(table string) string { return fmt.Sprintf("%s/%d", table, schemaVersion) }

// commit gives a table's files their names.
func (s *tableSet) commit(name string, rows int64) error {
	files := s.open[name]
	infos, errs := make([]FileInfo, len(files)), make([]error, len(files))
	var all sync.WaitGroup
	for i, a := range files { // each waits for the disk
		all.Go(func() { infos[i], errs[i] = a.Commit("table", schemaOf(name), rows) })
	}
	all.Wait()
	s.files = append(s.files, infos...)
	delete(s.open, name)
	return errors.Join(errs...)
}

// abort removes what was not committed.
func (s *tableSet) abort() {
	for _, l := range s.lanes {
		l.end(false)
		l.wait() //nolint:errcheck // the files are thrown away
	}
	for _, as := range s.open {
		for _, a := range as {
			a.Abort()
		}
	}
}

// foldAll writes requests and chunks.
func (s *tableSet) foldAll() (info TablesInfo, err error) {
	f := &fold{t0: s.in.T0, mem: &pool{}}
	if f.requests, err = newTable("requests", s.id, inTable(requestColumns()), s.outputs); err != nil {
		return info, err
	}
	if s.in.Chunks {
		if f.chunks, err = newTable("chunks", s.id, chunkColumns(), s.outputs); err != nil {
			return info, err
		}
	}
	for _, run := range inOrder(s.in.Journals) {
		ji, err := f.journal(run)
		if err != nil {
			return info, err
		}
		info.Journals = append(info.Journals, ji)
	}
	if err := closeTable(s, f.requests); err != nil || f.chunks == nil {
		return info, err
	}
	return info, closeTable(s, f.chunks)
}

// inOrder are the runs by cell and trial.
func inOrder(runs []RunJournal) []RunJournal {
	out := slices.Clone(runs)
	slices.SortStableFunc(out, func(a, b RunJournal) int {
		if a.Cell != b.Cell {
			return a.Cell - b.Cell
		}
		return a.Trial - b.Trial
	})
	return out
}

// small writes a table whose rows are all in memory.
func small[R any](s *tableSet, name string, cols []column[R], rows []R, place func(*R) Place) error {
	t, err := newTable(name, s.id, cols, s.outputs)
	if err != nil {
		return err
	}
	if err := writeRows(t, rows, place); err != nil {
		return err
	}
	return closeTable(s, t)
}

func closeTable[R any](s *tableSet, t *table[R]) error {
	if err := t.close(); err != nil {
		return err
	}
	return s.commit(t.name, t.written)
}
