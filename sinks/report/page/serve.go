package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// dashboardIndex lists the directories; a box ticked is a result in the report.
var dashboardIndex = htmltemplate.Must(htmltemplate.New("index").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>aiperf results</title>
<h1>Results</h1><form action="/report"><ul>{{range $i, $d := .}}<li><label><input type="checkbox" name="dir" value="{{$i}}"> {{$d}}</label>
 <a href="/report?dir={{$i}}">report</a></li>{{end}}</ul><button>Show the ticked ones together</button></form></html>
`))

// Listen opens the dashboard of the results among dirs on loopback; port 0 takes
// a free one.
func Listen(dirs []string, port int, e chart.Expense) (*Dashboard, error) {
	dirs = readable(dirs)
	if len(dirs) == 0 {
		return nil, diag.New("plot: not a result directory among those named",
			"name directories that aiperf run or profile finished")
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, diag.New("--port "+strconv.Itoa(port)+": "+err.Error(),
			"another one: --port 0 takes any that is free")
	}
	return &Dashboard{dirs, l, e}, nil
}

// Dashboard serves the reports of some directories. A request that names
// another host is refused: a page elsewhere must not read it.
type Dashboard struct {
	dirs    []string
	l       net.Listener
	expense chart.Expense
}

// URL is where it is.
func (d *Dashboard) URL() string { return "http://" + d.l.Addr().String() }

// Serve answers until ctx ends.
func (d *Dashboard) Serve(ctx context.Context) error {
	s := &http.Server{Handler: onlyHost(d.l.Addr().String(), d.pages()), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan error, 1)
	go func() { done <- s.Serve(d.l) }()
	select {
	case <-ctx.Done():
	case err := <-done:
		return err
	}
	patience, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if err := s.Shutdown(patience); err != nil {
		_ = s.Close() // somebody keeps reading; the program ends anyway
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// readable are those directories that hold tables, or another program's results.
func readable(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		r, err := results.Find(dir)
		if err == nil && r.Runs == nil {
			_, err = os.Stat(filepath.Join(dir, resultdir.Table("cells", "parquet")))
		}
		return err != nil
	})
}

// onlyHost answers only those who ask for this address, or for localhost.
func onlyHost(addr string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(addr)
	allowed := []string{addr, "localhost:" + port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(allowed, r.Host) {
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (d *Dashboard) pages() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'")
		_ = dashboardIndex.Execute(w, d.dirs) // a reader that went away
	})
	m.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) {
		var wanted []string
		for _, text := range r.URL.Query()["dir"] {
			if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(d.dirs) {
				wanted = append(wanted, d.dirs[i])
			}
		}
		if len(wanted) == 0 {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		b, err := OfDirs(wanted, d.expense)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b)
	})
	return m
}

// OfDirs is the page of some result directories.
func OfDirs(dirs []string, e chart.Expense) ([]byte, error) {
	d, err := Load(dirs)
	if err != nil {
		return nil, err
	}
	d.Expense = e
	return Of(d, nil)
}

// compare lets two results be compared, as aiperf compare does: what it decided is drawn,
// and said first. What cannot be compared stands beside each other, and the page says why.
// Of one result the comparison that its experiment asked for is drawn.
func compare(d *chart.Data) {
	if len(d.Dirs) == 1 {
		if all, err := report.ReadComparisons(filepath.Join(d.Dirs[0], resultdir.AnswerName)); err == nil &&
			len(all) == 1 {
			drawn(d, all[0])
		}
	}
	if len(d.Dirs) != 2 {
		return
	}
	a, b, err := results.Two(d.Dirs[0], d.Dirs[1])
	var c *decide.Comparison
	var unlike []receipt.Unlike
	if err == nil {
		unlike = results.Unlike(a, b)
		err = results.Refuse(a, b, unlike)
	}
	if err == nil {
		c, err = decide.Compare(a.Arm, b.Arm, decide.Terms{Invalid: a.AllowInvalid && b.AllowInvalid})
	}
	if err != nil {
		d.Compared = []string{"Not compared: " + words.Clip(err.Error(), textLimit)}
		return
	}
	var clients []string
	if of, _, err := audit.Between(nil, a, b); err == nil { // those that the results carry
		clients = audit.Judge(c, of)
	}
	names := chart.Names(d.Dirs)
	c.Baseline, c.Candidate = names[0], names[1]
	of := report.Beside(c, unlike)
	if d.Compared = []string{of.Headline()}; of.Changes() != "" {
		d.Compared = append(d.Compared, of.Changes())
	}
	d.Compared = append(append(d.Compared, of.Moved()...), clients...)
	drawn(d, of)
}

// drawn lets the page draw what a comparison decided, with its intervals, so that the
// chart says what the sentences say.
func drawn(d *chart.Data, c report.Comparison) {
	d.Levels, d.LevelsSaid = c.Levels(), c.LevelsSaid()
	several := slices.ContainsFunc(c.Rows, func(r decide.Row) bool { return r.Cell != c.Rows[0].Cell })
	for _, r := range c.Primary() {
		if math.IsNaN(r.Change) && (!r.Undecidable || r.NoRuns()) {
			continue
		}
		name := r.Cell
		if !several { // one workload has no name of its own
			name = c.Candidate
		}
		change, low, high, unit := report.ShownChange(r) // of errors in points, more of them to the right
		_, _, level := r.Shown()
		x := chart.Change{
			Metric: cmp.Or(metrics.Series(r.Key.Tag, r.Key.Stat), r.Header), Name: words.Line(name),
			Value: change, Low: low, High: high, Margin: r.Margin, Points: unit == " points",
			LargerIsBetter: r.LargerIsBetter, Decided: &r, Hollow: r.Few(),
			Instead: "cannot be decided", Values: report.ShownValues(r),
			Title: fmt.Sprintf(", %.4g %% interval: %s", 100*level, r.Outcome),
		}
		d.Decided = append(d.Decided, x)
	}
	order := map[string]int{} // by metric, in the order of the first cell
	for _, x := range d.Decided {
		if _, known := order[x.Metric]; !known {
			order[x.Metric] = len(order)
		}
	}
	slices.SortStableFunc(d.Decided, func(x, y chart.Change) int { return order[x.Metric] - order[y.Metric] })
}

// Load reads result directories; what is none is said with a hint.
func Load(dirs []string) (*chart.Data, error) {
	for _, dir := range dirs {
		if st, err := os.Stat(dir); err == nil && !st.IsDir() {
			if _, err := importer.Identify(dir); err != nil {
				return nil, err
			}
			continue
		}
		if !isDir(dir) {
			return nil, diag.New(words.Clip(dir, 200)+": no such directory",
				"name a result directory that aiperf run or profile finished")
		}
	}
	d, err := chart.Load(dirs...)
	if errors.Is(err, sinks.ErrDamaged) {
		return nil, diag.New(words.Clip(err.Error(), 300),
			"aiperf validate DIR names every file that is not as the manifest says; copy the directory anew, or measure again")
	}
	if said := (*diag.Error)(nil); errors.As(err, &said) && said.Hint != "" {
		return nil, err
	}
	if err != nil {
		hint := "name a result directory that aiperf or AIPerf finished; aiperf run … --resume finishes one that was interrupted"
		for _, dir := range dirs {
			if inside := resultdir.Inside(dir); inside != "" && !holdsResults(dir) {
				hint = "results lie in " + words.Clip(inside, 200) + ": name that"
			}
		}
		return nil, diag.New(words.Clip(err.Error(), 300), hint)
	}
	compare(d)
	return d, nil
}

// holdsResults reports whether dir itself is a result directory, whatever is wrong with it.
func holdsResults(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, resultdir.ManifestName))
	return err == nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
