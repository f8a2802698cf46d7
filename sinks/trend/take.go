package trend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// About is what a result does not say itself.
type About struct {
	Commit, Version, Label string
	Time                   time.Time // zero: when it was measured
}

// Take reads a result, ours or another program's, as rows of the history.
func Take(path string, about About) ([]sinks.HistoryRow, error) {
	s, err := results.Read(path)
	if err != nil {
		return nil, err
	}
	of := origin{when: about.Time}
	if s.Ours {
		err = of.ours(path)
	} else {
		err = of.foreign(path)
	}
	if err != nil {
		return nil, err
	}
	if of.when.IsZero() {
		return nil, &diag.Error{
			Place: path, Message: "does not say when it was measured", Hint: "--date 2026-11-28 says it",
		}
	}
	var rows []sinks.HistoryRow
	for i := range s.Cells {
		r := s.Receipt(i)
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		version, _ := r.Get("server.version")
		if about.Version != "" {
			version = about.Version
		}
		program, _ := r.Get("definition.by")
		for _, w := range decide.Watch(&s.Cells[i], s.AllowInvalid) {
			rows = append(rows, sinks.HistoryRow{
				Result: of.id, Name: path, Time: of.when.UnixNano(), Commit: about.Commit, Version: version,
				Label: about.Label, Program: program, Cell: s.Cells[i].Label, Metric: w.Tag, Stat: w.Stat,
				Unit: w.Unit, Better: betterOf(w.Way), Span: w.Window, Decides: w.Decides, Value: w.Mean,
				Low: w.Low, High: w.High, Trials: int64(w.N), Doubt: w.Doubt, Receipt: string(text),
			})
			text = nil // one of a cell is enough
		}
	}
	if len(rows) == 0 {
		return nil, &diag.Error{
			Place: path, Message: "has no figure that could be followed", Hint: "aiperf report " + path + " says why",
		}
	}
	return rows, nil
}

func betterOf(way int) string { return [...]string{"lower", "", "higher"}[way+1] }

func wayOf(better string) int {
	switch better {
	case "lower":
		return -1
	case "higher":
		return 1
	}
	return 0
}

// origin is which result it is, and when it was measured.
type origin struct {
	id   string
	when time.Time
}

func (o *origin) identify(digests []string) {
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	o.id = hex.EncodeToString(sum[:8])
}

// ours identifies a directory of ours by its plan and its figures: pages that were drawn since
// change nothing.
func (o *origin) ours(dir string) error {
	m, err := resultdir.ReadManifest(dir)
	if err != nil {
		return err
	}
	var digests []string
	for _, f := range m.Files {
		switch f.Path {
		case resultdir.LockName, resultdir.Table("metrics", "parquet"), resultdir.Table("runs", "parquet"):
			digests = append(digests, f.SHA256)
		}
	}
	o.identify(digests)
	if !o.when.IsZero() {
		return nil
	}
	t, err := sinks.ReadTable(dir, "runs", func(string) bool { return false })
	if err != nil {
		return err
	}
	if ns, err := strconv.ParseInt(t.Meta["aiperf.t0_unix_ns"], 10, 64); err == nil {
		o.when = time.Unix(0, ns).UTC()
	}
	return nil
}

func (o *origin) foreign(path string) error {
	r, err := importer.Open(path)
	if err != nil {
		return err
	}
	var digests []string
	for _, f := range r.Files {
		digests = append(digests, f.SHA256)
	}
	o.identify(digests)
	for i := range r.Runs {
		if began := r.Runs[i].Began; o.when.IsZero() && !began.IsZero() {
			o.when = began.UTC()
		}
	}
	return nil
}
