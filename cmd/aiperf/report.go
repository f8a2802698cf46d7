package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
)

// report prints a result on stdout, as text or as one JSON document; with
// AIPerf's words alone, its verdict goes to stderr.
func (a *app) report(res *runner.Result, asJSON, ours bool) error {
	if res.Finished != nil {
		return a.reportFinished(res, asJSON)
	}
	why := res.NothingMeasured()
	if why != nil {
		a.fail(why)
		fmt.Fprintf(a.Err, "nothing was measured; what was tried is in %s/\n", res.Dir)
	}
	a.allFailed(res)
	switch {
	case asJSON:
		return a.writeDoc(res.Report().Doc(diag.Code(res.ExitCode()), res.Interrupted))
	case why != nil:
		return nil
	case !ours:
		return a.verdictLine(res)
	}
	return res.Report().WriteConsole(a.Out)
}

// verdictLine says on stderr what AIPerf's words have no room for.
func (a *app) verdictLine(res *runner.Result) error {
	_, err := fmt.Fprintf(a.Err, "aiperf: verdict %s; aiperf checks %s says why\n", res.Report().Verdict, words.Line(res.Dir))
	return err
}

// reportFinished says again what a finished directory holds.
func (a *app) reportFinished(res *runner.Result, asJSON bool) error {
	if asJSON {
		return a.writeDoc(res.Finished)
	}
	a.complain(diag.New(res.Dir+": complete already, nothing was run", ""))
	b, err := os.ReadFile(filepath.Join(res.Dir, "summary.md"))
	if err != nil {
		return err
	}
	_, err = a.Out.Write(b)
	return err
}

// publish writes what CI systems read: the gates and comparisons as JUnit, and
// the summary for a GitHub workflow's job.
func publish(res *runner.Result, junit string) error {
	if res.Finished != nil {
		return nil
	}
	if junit != "" {
		if err := toFile(junit, res.Report().WriteJUnit); err != nil {
			return err
		}
	}
	return addSummary(os.Getenv("GITHUB_STEP_SUMMARY"), func(w io.Writer) error {
		b, err := os.ReadFile(filepath.Join(res.Dir, "summary.md"))
		if err != nil {
			return nil // nothing was measured
		}
		_, err = w.Write(b)
		return err
	})
}
