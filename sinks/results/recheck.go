package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/receipt"
)

// Recheck holds a finished directory, ours or AIPerf's, against itself: no file
// has changed, and every summary follows from its records. bad is a line for
// each thing that does not hold; said is what was looked at.
func Recheck(dir string) (said string, bad []string, err error) {
	if importer.Holds(dir) {
		return recheckImported(dir)
	}
	runs, err := aiperf.RecheckDirs(dir)
	if err != nil {
		return "", nil, err
	}
	m, err := resultdir.ReadManifest(dir)
	ours := err == nil
	if done, total, begun := resultdir.Progress(dir); !ours && begun {
		return "", nil, &diag.Error{
			Code: diag.Failed, Place: dir, Message: "not finished: " + doneOf(done, total),
			Hint: "aiperf run … --artifact-dir " + dir + " --resume",
		}
	}
	if !ours && len(runs) == 0 {
		said, err = nothingToCheck(dir)
		return said, nil, err
	}
	if ours {
		for _, b := range m.Verify(dir) {
			bad = append(bad, dir+"/"+b)
		}
		bad = append(bad, lostRecords(dir)...)
	}
	checked := 0
	for _, run := range runs {
		c, err := aiperf.RecheckProfile(run)
		if err != nil {
			return "", bad, diag.New(err.Error(), "the file is damaged or no export of AIPerf's")
		}
		checked += c.Checked
		for _, b := range c.Bad {
			bad = append(bad, fmt.Sprintf("%s: %s", run, b))
		}
	}
	recomputed := len(runs)
	if ours { // AIPerf's files beside the tables are values more, not instead
		inTables, of, wrong, err := recheckTables(dir)
		if err != nil {
			return "", bad, err
		}
		checked, recomputed = checked+inTables, max(recomputed, of)
		bad = slices.Concat(bad, wrong, wrongReceipts(dir), wrongRules(dir))
	}
	said = fmt.Sprintf("%s recomputed from the records of %s", words.Count(checked, "value"),
		words.Count(recomputed, "run"))
	if ours {
		said = fmt.Sprintf("%d files as written; %s; %s", len(m.Files), m.Verdict, said)
		if m.Interrupted {
			said = "PARTIAL: the plan is not done; " + said
		}
	}
	return said, bad, nil
}

// recheckImported holds imported results against the originals that they keep.
func recheckImported(dir string) (said string, bad []string, err error) {
	m, err := resultdir.ReadManifest(dir)
	if err != nil {
		return "", nil, refuse(dir, err.Error(), "import the files again")
	}
	for _, b := range m.Verify(dir) {
		bad = append(bad, dir+"/"+b)
	}
	if len(bad) > 0 {
		return fmt.Sprintf("%d files as imported", len(m.Files)-len(bad)), bad, nil
	}
	r, err := importer.Open(dir)
	if err != nil {
		return "", nil, err
	}
	checked, runs, wrong, err := r.Recompute()
	if err != nil {
		return "", nil, err
	}
	said = fmt.Sprintf("%d files as imported from %s; %s recomputed from the requests of %s", len(m.Files), r.Own(),
		words.Count(checked, "figure"), words.Count(runs, "run"))
	if left := len(r.Runs) - runs; left > 0 {
		said += fmt.Sprintf("; %s cannot be recomputed: a summary without single requests", words.Count(left, "run"))
	}
	for _, w := range wrong {
		bad = append(bad, dir+": "+w)
	}
	return said, bad, nil
}

// wrongReceipts is a line for a receipt.json that does not follow from the tables. An older
// directory has none.
func wrongReceipts(dir string) []string {
	had, err := receipt.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	made, err := MakeReceipts(dir)
	if err != nil {
		return []string{err.Error()}
	}
	if why := had.Follows(made); why != "" {
		return []string{filepath.Join(dir, resultdir.ReceiptName) + ": " + why}
	}
	return nil
}

// wrongRules is a line for a rules.json that does not follow from the tables and the rules that
// it keeps. Few directories have one.
func wrongRules(dir string) []string {
	had, err := rules.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var made *rules.Document
	if err == nil {
		made, err = RulesAgain(dir, had)
	}
	if err != nil {
		return []string{filepath.Join(dir, resultdir.RulesName) + ": " + diag.Line(err)}
	}
	if !had.Follows(made) {
		return []string{filepath.Join(dir, resultdir.RulesName) + ": does not follow from the tables and the rules it keeps"}
	}
	return nil
}

// RulesAgain holds a directory against the rules that a document of it keeps.
func RulesAgain(dir string, d *rules.Document) (*rules.Document, error) {
	sets, err := d.Asked()
	if err != nil {
		return nil, err
	}
	return JudgeRules(dir, sets)
}

// doneOf is how far a plan is; of one that makes up its runs total is 0.
func doneOf(done, total int) string {
	if total == 0 {
		return words.Count(done, "run") + " done"
	}
	return fmt.Sprintf("%d of %s are done", done, words.Count(total, "run"))
}

// lostRecords is a line for each run whose last attempt could not write all of
// its records.
func lostRecords(dir string) (lines []string) {
	runs, _ := resultdir.Begun(dir) // of a damaged journal Verify has said that it is not as it was written
	for _, e := range runs {
		if e.Event == "lost" {
			lines = append(lines, fmt.Sprintf("%s: run %s: %s; the command that began it, with --resume, measures it again", dir, e.Run, e.Error))
		}
	}
	return lines
}

// nothingToCheck says what is missing in a directory that has no summary beside
// records.
func nothingToCheck(dir string) (said string, err error) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(resultdir.SummaryName):
		return "a summary without records (--export-level summary): nothing to hold it against", nil
	case has(resultdir.RecordsName):
		return "", &diag.Error{
			Code: diag.Failed, Place: dir, Message: "records without a summary",
			Hint: "the run was stopped, or every request failed: AIPerf writes no summary then",
		}
	case has("inputs.json"), has(resultdir.LogDir):
		return "", &diag.Error{
			Code: diag.Failed, Place: dir, Message: "neither records nor a summary",
			Hint: "the run stopped before its first answer",
		}
	}
	return "", diag.New(dir+": neither results nor an experiment in CUE there",
		"name the directory that holds "+resultdir.ManifestName+" or "+resultdir.SummaryName+", or an experiment")
}
