package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sinks/report"
	readback "aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

var compareCommand = command{
	words: resultDirs,
	name:  "compare", usage: "compare two systems and say which is better",
	help: `aiperf compare A B compares two result directories, the first is the baseline.
Each primary metric of each cell is BETTER, WORSE, EQUIVALENT or UNDECIDED.

  aiperf compare results/before results/after
  aiperf compare before after --margin 0.03 --junit compare.xml
  aiperf compare --aa results/before      odd against even trials: the noise

Results of other clients are read, too (aiperf help import).
Exit code 3: a primary metric is WORSE; 0: BETTER, EQUIVALENT or NOT WORSE:
harm beyond the margin is ruled out for each of them; 4: undecided.`,
	flags: []argv.Switch{
		outputFlag,
		{Name: "margin", Arg: "SHARE", Doc: "smallest change that counts (default 0.05, and 0.15 from p95 on)"},
		{
			Name: "share-margin", Arg: "SHARE",
			Doc: "smallest change of a share that counts: errors, good requests, right answers (default 0.01, which is 1 point)",
		},
		{
			Name: "must-detect", Arg: "SHARE",
			Doc: "smallest change that the comparison must be able to find, such as 10%, of a share 10 points; if it cannot, it ends UNDECIDED (exit code 4)",
		},
		{
			Name: "metric", Arg: "METRIC", Many: true,
			Doc: "metric that decides, such as time_to_first_token.p99, or server_kv_use.max of the servers; all others are only shown (--all)",
		},
		{
			Name: "undecided", Arg: "WORD", Words: []string{"pass", "fail"},
			Doc: "exit code when something is UNDECIDED and nothing WORSE: pass (0) or fail (3); without it, 4",
		},
		{
			Name: "anyway",
			Doc:  "compare what did not do the same: another load, other lengths, another API; each row says so",
		},
		{
			Name: "audit", Arg: "FILE", Many: true,
			Doc: "audit of a client that measured one side: what it may be off by is named (aiperf help audit)",
		},
		{Name: "all", Doc: "also show the metrics that do not decide"},
		{Name: "aa", Doc: "compare the odd trials of one directory with its even ones; takes 6 trials or more"},
		{Name: "junit", Arg: "FILE", Doc: "write the primary metrics as test cases"},
		{Name: "markdown", Arg: "FILE", Doc: "write the table as Markdown"},
	},
	run: func(a *app, p *argv.Line) error {
		a.resultsInEach(p.Words)
		terms, err := compareTerms(p)
		if err != nil {
			return err
		}
		asJSON, err := wantJSON(p)
		if err != nil {
			return err
		}
		c, err := comparison(p, terms)
		if err != nil {
			return err
		}
		if !p.Has("aa") && sameFile(p.Words[0], p.Words[1]) {
			a.complain(diag.New("both are one result: a measurement always agrees with itself",
				"aiperf compare --aa "+p.Words[0]+" compares its trials with each other"))
		}
		for _, n := range c.left {
			a.note(n)
		}
		if err := c.publish(a, p, terms.Undecided, asJSON); err != nil {
			return err
		}
		if p.Has("aa") {
			return nil // says how much noise there is; that is no failure
		}
		if code := c.Exit(); code != diag.OK {
			return exit(code)
		}
		return nil
	},
}

// sameFile reports whether two paths are of one file, or of one directory.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

type compared struct {
	report.Comparison
	left []string // figures that do not mean the same in both
}

// comparison reads both systems, or the two halves of one.
func comparison(p *argv.Line, terms decide.Terms) (*compared, error) {
	var a, b *readback.System
	var err error
	switch {
	case p.Has("aa") && len(p.Words) == 1:
		if a, err = readback.Read(p.Words[0]); err == nil {
			a, b, err = readback.Halves(a)
		}
	case !p.Has("aa") && len(p.Words) == 2:
		a, b, err = readback.Two(p.Words[0], p.Words[1])
	default:
		return nil, diag.New("which two results?", "aiperf compare BASELINE CANDIDATE, or aiperf compare --aa DIR")
	}
	if err != nil {
		return nil, err
	}
	if terms.Primary, err = primary(p); err != nil {
		return nil, err
	}
	var unlike []receipt.Unlike
	if !p.Has("aa") {
		unlike = readback.Unlike(a, b)
		if err := readback.Refuse(a, b, unlike); err != nil && !p.Has("anyway") {
			return nil, err
		}
	}
	terms.Invalid = a.AllowInvalid && b.AllowInvalid
	c, err := decide.Compare(a.Arm, b.Arm, terms)
	if err != nil {
		return nil, err
	}
	errs, err := clientErrors(p, c, a, b)
	if err != nil {
		return nil, err
	}
	return &compared{report.Beside(c, unlike), slices.Concat(a.Left, b.Left, errs)}, nil
}

func compareTerms(p *argv.Line) (decide.Terms, error) {
	t := decide.Terms{Undecided: p.Get("undecided")}
	for _, x := range []struct {
		name  string
		share *float64
	}{{"margin", &t.Margin}, {"share-margin", &t.ShareMargin}, {"must-detect", &t.MustDetect}} {
		if s := p.Get(x.name); s != "" {
			var err error
			if *x.share, err = parseShare("--"+x.name, s); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// primary are the metrics that decide. Those of plug-ins are known once the results are.
func primary(p *argv.Line) (keys []decide.Key, err error) {
	for _, s := range p.Values["metric"] {
		k, err := decide.ParseKey(s, decide.Names())
		if err != nil {
			err.Place = "--metric"
			return nil, err
		}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// publish prints the comparison and writes the files that were asked for. In a
// GitHub workflow it is added to the job's summary.
func (c *compared) publish(a *app, p *argv.Line, undecided string, asJSON bool) error {
	if path := p.Get("junit"); path != "" {
		if err := toFile(path, func(w io.Writer) error { return c.WriteJUnit(w, undecided) }); err != nil {
			return err
		}
	}
	if path := p.Get("markdown"); path != "" {
		if err := toFile(path, c.WriteMarkdown); err != nil {
			return err
		}
	}
	if err := addSummary(os.Getenv("GITHUB_STEP_SUMMARY"), c.WriteMarkdown); err != nil {
		return err
	}
	if asJSON {
		return a.writeDoc(c.Doc())
	}
	if err := c.WriteConsole(a.Out, report.Screen{
		Width: screenWidth(a.Out), All: p.Has("all"), Terminal: widthOf(a.Out) > 0,
	}); err != nil {
		return err
	}
	if p.Has("aa") {
		told, of := c.toldApart()
		fmt.Fprintf(a.Out, "a system against itself: %d of %d metrics differ\n", told, of)
	}
	return nil
}

// toldApart counts the rows that say BETTER or WORSE.
func (c *compared) toldApart() (told, of int) {
	for _, r := range c.Rows {
		if of++; r.Outcome == decide.Better || r.Outcome == decide.Worse {
			told++
		}
	}
	return told, of
}

func toFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := atomicfile.Through(path, b.Bytes()); err != nil {
		return &diag.Error{Message: err.Error(), Cause: err, Code: diag.Failed}
	}
	return nil
}

// addSummary appends Markdown to the file that a GitHub workflow shows with the
// job; nothing where there is none.
func addSummary(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return &diag.Error{Message: err.Error(), Cause: err, Code: diag.Failed}
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
