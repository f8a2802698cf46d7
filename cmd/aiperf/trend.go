package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/page"
	"aiperf.dev/aiperf/sinks/trend"
)

var trendCommand = command{
	words: resultDirs,
	name:  "trend", usage: "follow figures over many results, and find where they moved", minor: true,
	help: `aiperf trend STORE says what moved, by how much, and between which results. A
store is a directory of Parquet files that results are added to, by several
processes at once if need be; results can also be named without one.

  aiperf trend history --add results/tonight --commit "$GITHUB_SHA"
  aiperf trend history --by date --markdown -
  aiperf trend history --accept 3f9c2ab --why "larger model"
  aiperf trend results/*                 without a store

A change is found by a permutation test: a server that stays as it is gives at
most one false change in 100 results, for each metric. Results of another
workload start a new series. Exit code 3: a figure that decides got worse, the
last results revealed it, and nobody has accepted it.`,
	flags: []argv.Switch{
		outputFlag,
		{Name: "add", Arg: "RESULT", Many: true, Doc: "result directory, or another client's file, to add to the store first"},
		{Name: "commit", Arg: "NAME", Doc: "what the added results were made of"},
		{Name: "release", Arg: "NAME", Doc: "version of the server (default: what it tells)"},
		{Name: "label", Arg: "TEXT", Doc: "any other name of the added results"},
		{Name: "date", Arg: "TIME", Doc: "when they were measured, such as 2026-11-28 (default: what they say)"},
		{Name: "by", Arg: "WORD", Words: []string{"commit", "date", "version"}, Doc: "what results are called (default: commit)"},
		{Name: "metric", Arg: "METRIC", Many: true, Doc: "metric that decides, such as time_to_first_token.p99; without it those that decide comparisons"},
		{Name: "new", Arg: "N", Doc: "a change is new while one of the last N results revealed it (default 4)"},
		{
			Name: "false-changes", Arg: "N",
			Doc: "how many false changes of a metric in 100 results are accepted (default 1); fewer are found later",
		},
		{Name: "accept", Arg: "NAME", Doc: "keep in the store that the changes at this commit, date or version are known"},
		{Name: "why", Arg: "TEXT", Doc: "reason to keep with --accept"},
		{Name: "all", Doc: "also show figures that do not decide, and where each one stands"},
		{Name: "html", Arg: "FILE", Doc: "write it as a page with charts"},
		{Name: "markdown", Arg: "FILE", Doc: "write it as Markdown; - is the screen"},
	},
	run: (*app).trend,
}

func (a *app) trend(p *argv.Line) error {
	asJSON, err := wantJSON(p)
	if err != nil {
		return err
	}
	terms, err := trendTerms(p)
	if err != nil {
		return err
	}
	if len(p.Words) == 0 {
		return diag.New("which results?", "aiperf trend STORE, or aiperf trend RESULT RESULT…")
	}
	t := report.Trend{}
	var rs []*trend.Result
	if stored(p) {
		rs, t.Left, err = a.stored(p, &terms)
	} else {
		rs, err = loose(p)
	}
	if err != nil {
		return err
	}
	terms.All = p.Has("all") || p.Has("html") || asJSON
	if t.Trend = trend.Judge(rs, terms); len(terms.Metrics) > 0 && !slices.ContainsFunc(t.Series,
		func(s *trend.Series) bool { return s.Decides }) {
		return diag.New("--metric: no result has "+terms.Metrics[0].Spoken(), "aiperf trend … --all shows those that are followed")
	}
	if err := a.showTrend(p, t, asJSON); err != nil {
		return err
	}
	if code := t.Exit(); code != diag.OK {
		return exit(code)
	}
	return nil
}

// stored reports whether a store is named, or asked for by what only a store can do.
func stored(p *argv.Line) bool {
	return trend.Is(p.Words[0]) || p.Has("add") || p.Has("accept")
}

// stored adds what is to be added, and reads the store.
func (a *app) stored(p *argv.Line, terms *trend.Terms) (rs []*trend.Result, left []string, err error) {
	if len(p.Words) != 1 {
		return nil, nil, diag.New("one store at a time: "+words.Clip(p.Words[1], 80)+" is one word too many",
			"aiperf trend STORE --add RESULT adds one")
	}
	if err := a.addResults(p); err != nil {
		return nil, nil, err
	}
	s, err := trend.Open(p.Words[0])
	if err != nil {
		return nil, nil, err
	}
	if rs, left, err = s.Read(); err != nil {
		return nil, nil, err
	}
	if name := p.Get("accept"); name != "" {
		if err := a.accept(s, rs, terms.By, name, p.Get("why")); err != nil {
			return nil, nil, err
		}
	}
	terms.Accepted, err = s.ReadAccepted()
	return rs, left, err
}

// addResults reads all that is to be added before any of it is.
func (a *app) addResults(p *argv.Line) error {
	paths := p.Values["add"]
	if len(paths) == 0 {
		for _, flag := range []string{"commit", "release", "label", "date"} {
			if p.Has(flag) {
				return diag.New("--"+flag+" is about results that are added", "--add RESULT adds one")
			}
		}
		return nil
	}
	about := trend.About{Commit: p.Get("commit"), Version: p.Get("release"), Label: p.Get("label")}
	if text := p.Get("date"); text != "" {
		when, err := parseDate(text)
		if err != nil {
			return err
		}
		about.Time = when
	}
	var all [][]sinks.HistoryRow
	for _, path := range paths {
		rows, err := trend.Take(path, about)
		if err != nil {
			return err
		}
		all = append(all, rows)
	}
	s, err := trend.Create(p.Words[0])
	if err != nil {
		return err
	}
	for i, rows := range all {
		added, err := s.Add(rows, version, time.Now())
		if err != nil {
			return err
		}
		if !added {
			a.note(paths[i] + " is in the store already")
		}
	}
	return nil
}

// parseDate reads a day, or a moment, in UTC where nothing else is said.
func parseDate(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, diag.New(fmt.Sprintf("--date: %q is not a date", words.Clip(text, 40)), "such as 2026-11-28, or 2026-11-28T03:15:00Z")
}

// accept keeps that the changes at the results of this name are known.
func (a *app) accept(s *trend.Store, rs []*trend.Result, by trend.By, name, why string) error {
	found := 0
	for _, r := range rs {
		if !slices.Contains([]string{r.Commit, r.Version, r.Label, r.Called(by), r.Time.Format("2006-01-02"), r.ID}, name) {
			continue
		}
		found++
		if err := s.Accept(r, name, why, time.Now()); err != nil {
			return err
		}
	}
	if found == 0 {
		return diag.New("--accept: no result is called "+words.Clip(name, 80), "aiperf trend STORE shows their names")
	}
	a.note(words.CountOf(found, "result is", "results are") + " marked as known: " + name)
	return nil
}

// loose reads results that are in no store.
func loose(p *argv.Line) ([]*trend.Result, error) {
	if _, err := os.Stat(p.Words[0]); err != nil && len(p.Words) == 1 {
		return nil, &diag.Error{
			Place: p.Words[0], Message: "no such directory", Hint: "aiperf trend " + p.Words[0] + " --add RESULT begins a store",
		}
	}
	var all [][]sinks.HistoryRow
	for _, path := range p.Words {
		rows, err := trend.Take(path, trend.About{})
		if err != nil {
			return nil, err
		}
		all = append(all, rows)
	}
	return trend.FromRows(all), nil
}

func trendTerms(p *argv.Line) (t trend.Terms, err error) {
	t.By = trend.By(cmp.Or(p.Get("by"), string(trend.ByCommit)))
	if t.Metrics, err = primary(p); err != nil {
		return t, err
	}
	if text := p.Get("new"); text != "" {
		if t.New, err = strconv.Atoi(text); err != nil || t.New < 1 {
			return t, diag.New(fmt.Sprintf("--new: expected a number of results from 1 on, got %q", words.Clip(text, 40)), "")
		}
	}
	if text := p.Get("false-changes"); text != "" {
		if t.Alarms, err = strconv.ParseFloat(text, 64); err != nil || !(t.Alarms > 0 && t.Alarms <= 20) {
			return t, diag.New(fmt.Sprintf("--false-changes: expected more than 0 and at most 20, got %q", words.Clip(text, 40)), "")
		}
	}
	return t, nil
}

func (a *app) showTrend(p *argv.Line, t report.Trend, asJSON bool) error {
	if err := addSummary(os.Getenv("GITHUB_STEP_SUMMARY"), t.WriteMarkdown); err != nil {
		return err
	}
	if path := p.Get("html"); path != "" {
		b, err := page.Trend(t)
		if err != nil {
			return err
		}
		if err := toFile(path, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}); err != nil {
			return err
		}
	}
	switch path := p.Get("markdown"); path {
	case "":
	case "-":
		return t.WriteMarkdown(a.Out)
	default:
		if err := toFile(path, t.WriteMarkdown); err != nil {
			return err
		}
	}
	if asJSON {
		return a.writeDoc(t.Doc())
	}
	return t.WriteConsole(a.Out, report.Screen{Width: screenWidth(a.Out), All: p.Has("all")})
}
