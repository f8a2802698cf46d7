// Package page writes report.html: what a benchmark found, on one page that
// needs no network, no server and no script to be read. In go result
// directories; out comes one file.
//
// Everything is escaped: names and error texts of servers are hostile input.
// The page's own style and script are allowed by their digests, nothing else.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

//go:embed page.html
var markup string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Page is everything the template shows, as text.
type Page struct {
	Name, Scope           string
	Verdict               validity.Verdict
	Told                  []string // what was measured, where and when
	Answer                string   // one sentence
	More                  []string // the sentence behind it
	Levels                string   // of the intervals in these sentences
	Rest                  []string // what else the result shows
	Words                 string   // what the words of these mean
	Tiles                 []Tile
	Head                  *Chart        // the chart that shows the answer
	Picture               template.HTML // a link to it as an SVG with its caption, of which the script makes a PNG
	Findings              []Finding
	Folded                []Finding // more of them, which a reader unfolds: the figures can be used
	Passed                bool      // no check is in doubt
	MoreFindings          string
	Unjudged              string // which results have no verdict
	Caption, Hint, Legend string
	Columns               []Column
	Rows                  []Row
	Charts                []Chart
	Missing               []*draw.Chart
	Sampled, Left         string // what of the cells is not told
	Details               []Detail
	Facts                 []Fact
	Sources               []Fact
	Policy, Style, Script any // set by Write
}

// FoldedNote heads the folded findings.
func (p *Page) FoldedNote() string {
	return words.CountOf(len(p.Folded), "more check is in doubt", "more checks are in doubt")
}

// tallMost is how many rows the table shows before it scrolls by itself, so that
// what stands below it is found.
const tallMost = 40

// long is how many characters of an answer have room in the largest letters.
const long = 90

// Long reports whether the answer needs smaller letters.
func (p *Page) Long() bool { return words.Width(p.Answer) > long }

// printedMost is how many rows of the table are printed; page.css leaves out the others.
const printedMost = 120

// Printed says on paper that there are more rows.
func (p *Page) Printed() string {
	if len(p.Rows) <= printedMost {
		return ""
	}
	return fmt.Sprintf("The first %d of %s rows are printed.", printedMost, words.Whole(int64(len(p.Rows))))
}

// Tall reports whether the table scrolls.
func (p *Page) Tall() bool { return len(p.Rows) > tallMost }

// Several reports whether there is a row to look for.
func (p *Page) Several() bool { return len(p.Rows) > 1 }

// Tile is one figure of the head.
type Tile struct{ Label, Value, Note, Class string }

// Finding is one check in doubt.
type Finding struct {
	Verdict              validity.Verdict
	Check, Detail, Where string
	At                   string // which cell it is of, where there are several: "at concurrency 128"
}

// Column is the head of a column of the table of cells.
type Column struct {
	Name   string
	Number bool
}

// Row is one cell of the matrix.
type Row struct {
	Index int
	Best  bool // for some objective
	Cells []Entry
}

// Entry is one place of the table.
type Entry struct {
	Head                           bool   // names the row
	Mark                           string // at the number
	Class, Sort, Title, Text, Link string
	Small                          string // on a line of its own: the bounds of the interval, what the cell is
}

// Chart is a picture with its numbers beside it.
type Chart struct {
	ID, Title string
	Class     string // whole: takes the whole width; on paper deep does, and sheet takes most of a sheet
	SVG       template.HTML
	Narrow    template.HTML // the same for a narrow window
	Numbers   []Numbers     // one for each panel
	Cut       string        // what of the numbers was left out
}

// Numbers is what one panel of a chart shows, as a table.
type Numbers struct {
	Head []string
	Rows [][]string
}

// Detail is what there is to say about one cell.
type Detail struct {
	Index   int
	Label   string
	Reason  string // why it is the knee, or why it has no figures
	Verdict validity.Verdict
	Checks  []Finding
	Errors  []Failure
	Slowest [][]string
	Charts  []Chart
	Missing []*draw.Chart
}

// Failure is one kind of failed requests.
type Failure struct {
	Count         int
	Kind, Message string
}

// Fact is a line of how it was measured.
type Fact struct {
	Name, Text string
	Code       bool
	First      bool // of one of several results
}

// Of makes the page of results that were read. said are the sentences on what
// they show; nil takes those of the manifests.
func Of(d *chart.Data, said []string) ([]byte, error) {
	p, err := compose(d, said)
	if err != nil {
		return nil, err
	}
	return p.render()
}

// parsed is the template; it is part of the program, so that it parses.
var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"plain": plain, "whole": whole, "flag": flag,
}).Parse(markup))

// flag reports whether a sentence begins with a flag, which is typed in small letters.
func flag(text string) bool { return strings.HasPrefix(text, "--") }

// plain makes text harmless between tags, where quotes are what they are.
func plain(text string) template.HTML {
	return template.HTML(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// typed is a flag with its value, as it is typed, or a short name with hyphens.
var typed = regexp.MustCompile(`--[a-z][a-z-]*(?: [0-9]+)?|\b[\w.]{1,16}(?:-[\w.]{1,16}){1,2}\b`)

// whole is plain, and keeps what is typed on one line, which browsers break at hyphens.
func whole(text string) template.HTML {
	return template.HTML(typed.ReplaceAllString(string(plain(text)), `<span class="typed">$0</span>`))
}

func (p *Page) render() ([]byte, error) { return p.renderAs(parsed) }

func (p *Page) renderAs(as *template.Template) ([]byte, error) {
	css := strings.NewReplacer("LIGHT", draw.ThemeVariables(draw.Light), "DARK",
		draw.ThemeVariables(draw.Dark)).Replace(style) + draw.Variables()
	p.Style, p.Script = template.CSS(css), template.JS(script)
	p.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(css), digest(script))
	var b bytes.Buffer
	if err := as.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// digest allows exactly this text in a content security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
