package trend_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sinks/trend"
	"aiperf.dev/aiperf/sweep/decide"
)

// night is what a nightly result says: a value of TTFT p50 and one of throughput for each cell.
type night struct {
	cells  int
	ttft   float64 // ms
	isl    string  // that was asked for
	commit string
	doubt  string
}

var began = time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)

// rows are those of night i.
func (n night) rows(t testing.TB, i int) (rows []sinks.HistoryRow) {
	t.Helper()
	r := receipt.New()
	r.Asked = []receipt.Fact{{Name: "datasets.0.prompts.isl.mean", Value: n.isl}}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for c := range n.cells {
		for _, f := range []struct {
			metric, stat, unit, better string
			value                      float64
		}{
			{"time_to_first_token", "p50", "ms", "lower", n.ttft * float64(1+c)},
			{"output_token_throughput", "avg", "tokens/sec", "higher", 1000},
		} {
			rows = append(rows, sinks.HistoryRow{
				Result: fmt.Sprintf("%016x", i), Name: fmt.Sprintf("results/%d", i), Time: began.AddDate(0, 0, i).UnixNano(),
				Commit: n.commit, Cell: fmt.Sprintf("concurrency %d", 1<<c), Metric: f.metric, Stat: f.stat, Unit: f.unit,
				Better: f.better, Span: "full", Decides: true, Value: f.value, Low: math.NaN(), High: math.NaN(), Trials: 1,
				Doubt: n.doubt, Receipt: string(text),
			})
		}
	}
	return rows
}

// history is nights of which the median has moved by a share from one on.
func history(t testing.TB, nights, from int, by float64) (all [][]sinks.HistoryRow) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range nights {
		v := 100 * (1 + 0.01*r.NormFloat64())
		if i >= from {
			v *= 1 + by
		}
		all = append(all, night{1, v, "512", fmt.Sprintf("c%03d", i), ""}.rows(t, i))
	}
	return all
}

var ttft = decide.Key{Tag: "time_to_first_token", Stat: "p50"}

func series(t *testing.T, tr *trend.Trend, k decide.Key) *trend.Series {
	t.Helper()
	for _, s := range tr.Series {
		if s.Key == k && s.Current {
			return s
		}
	}
	t.Fatalf("no series of %s", k.Spoken())
	return nil
}

// A rise of 8 % from night 30 on is found, and is harm of a time and no harm of a throughput.
func TestJudge(t *testing.T) {
	t.Parallel()
	tr := trend.Judge(trend.FromRows(history(t, 34, 30, 0.08)), trend.Terms{})
	s := series(t, tr, ttft)
	if len(s.Changes) != 1 {
		t.Fatalf("changes %+v", s.Changes)
	}
	c := s.Changes[0]
	if c.At != 30 || !c.Harm || !c.New || !s.Alarm(&c) || !(c.Low < 0.08 && 0.08 < c.High) ||
		c.From < 99 || c.To > 110 {
		t.Errorf("change %+v", c)
	}
	if other := series(t, tr, decide.Key{Tag: "output_token_throughput", Stat: "avg"}); len(other.Changes) > 0 {
		t.Errorf("throughput moved: %+v", other.Changes)
	}
	// Once it was revealed by a result that is no longer among the last, it is known.
	old := series(t, trend.Judge(trend.FromRows(history(t, 44, 30, 0.08)), trend.Terms{}), ttft)
	if len(old.Changes) != 1 || old.Changes[0].New || old.Alarm(&old.Changes[0]) {
		t.Errorf("changes %+v", old.Changes)
	}
	// A gain is no alarm.
	gain := series(t, trend.Judge(trend.FromRows(history(t, 40, 30, -0.08)), trend.Terms{New: 10}), ttft)
	if len(gain.Changes) != 1 || !gain.Changes[0].Gain || gain.Alarm(&gain.Changes[0]) {
		t.Errorf("changes %+v", gain.Changes)
	}
}

// What another workload gave is another series; where the old workload comes back, its series
// goes on.
func TestOtherWorkloadIsAnotherSeries(t *testing.T) {
	t.Parallel()
	all := history(t, 40, 20, 0)
	for i := 20; i < 30; i++ {
		all[i] = night{1, 200, "1024", "c", ""}.rows(t, i)
	}
	tr := trend.Judge(trend.FromRows(all), trend.Terms{})
	s := series(t, tr, ttft)
	if len(s.Points) != 30 || len(s.Changes) > 0 {
		t.Errorf("%d points, changes %+v", len(s.Points), s.Changes)
	}
	if len(tr.Breaks) != 2 || tr.Breaks[0].Why != "--isl was 512 and is 1024" || tr.Breaks[0].After.ID != fmt.Sprintf("%016x", 20) {
		t.Errorf("breaks %+v", tr.Breaks)
	}
}

// Figures in doubt are there and count for nothing.
func TestDoubtCountsForNothing(t *testing.T) {
	t.Parallel()
	all := history(t, 30, 30, 0)
	for i := 24; i < 30; i++ {
		all[i] = night{1, 300, "512", "c", "client_cpu"}.rows(t, i)
	}
	s := series(t, trend.Judge(trend.FromRows(all), trend.Terms{}), ttft)
	if level, _ := s.Level(); len(s.Points) != 30 || len(s.Changes) > 0 || level > 102 {
		t.Errorf("%d points, level %g, changes %+v", len(s.Points), level, s.Changes)
	}
}

func create(t *testing.T) (*trend.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "history")
	s, err := trend.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func add(t *testing.T, s *trend.Store, rows []sinks.HistoryRow, now time.Time) bool {
	t.Helper()
	added, err := s.Add(rows, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// Every value comes back as it was added, and a result that is added twice counts once: with
// the last word about it.
func TestStoreKeepsEachResultOnce(t *testing.T) {
	t.Parallel()
	s, dir := create(t)
	rows := night{2, 100, "512", "abc", "skew"}.rows(t, 3)
	rows[1].Low, rows[1].High, rows[1].Trials = 990, 1010, 5
	want := slices.Clone(rows)
	if !add(t, s, rows, began) || add(t, s, rows, began.Add(time.Hour)) {
		t.Error("a result that is there already was added again")
	}
	again := night{2, 100, "512", "def", ""}.rows(t, 3)
	if !add(t, s, again, began.Add(2*time.Hour)) {
		t.Error("new words about a result were not kept")
	}
	rs, left, err := s.Read()
	if err != nil || len(left) > 0 || len(rs) != 1 || rs[0].Commit != "def" {
		t.Fatalf("%+v, %v, %v", rs, left, err)
	}
	path := filepath.Join(dir, "month=2026-01", "20260104T030000Z-"+want[0].Result+".parquet")
	got, err := sinks.ReadHistory(path)
	if err != nil || len(got) != len(again) {
		t.Fatal(len(got), err)
	}
	for i := range got {
		x, y := got[i], again[i]
		y.Added = began.Add(2 * time.Hour).UnixNano()
		if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
			t.Errorf("row %d came back as\n%+v, not\n%+v", i, x, y)
		}
	}
}

// Many writers at once, each result by two of them: nothing is lost, and each is there once.
func TestStoreOfManyWriters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "history")
	const results = 24
	var all sync.WaitGroup
	for i := range 2 * results {
		all.Go(func() {
			s, err := trend.Create(dir)
			if err == nil {
				_, err = s.Add(night{1, 100, "512", "abc", ""}.rows(t, i%results), "test", began)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s, err := trend.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rs, left, err := s.Read()
	if err != nil || len(left) > 0 || len(rs) != results {
		t.Errorf("%d results, %v, %v", len(rs), left, err)
	}
}

// What does not belong into a store, or is damaged, costs a line each and nothing else.
func TestStoreWithBadFiles(t *testing.T) {
	t.Parallel()
	s, dir := create(t)
	for i := range 3 {
		add(t, s, night{1, 100, "512", "abc", ""}.rows(t, i), began)
	}
	month := filepath.Join(dir, "month=2026-01")
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(month, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(month, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	put("cut.parquet", whole[:len(whole)/2])
	put("empty.parquet", nil)
	put("notes.txt", []byte("mine"))
	put(".x.parquet.123.tmp", whole[:20]) // of a writer that was killed
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	rs, left, err := s.Read()
	if err != nil || len(rs) != 3 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	slices.Sort(left)
	want := []string{
		filepath.Join(month, "cut.parquet") + ": damaged, not as it was written, left out; add the result again",
		filepath.Join(month, "empty.parquet") + ": damaged, not as it was written, left out; add the result again",
		filepath.Join(month, "notes.txt") + ": not a file of the store, left out",
		filepath.Join(dir, "other") + ": not a folder of the store, left out",
	}
	if !slices.Equal(left, want) {
		t.Errorf("left out:\n%s\nwant:\n%s", strings.Join(left, "\n"), strings.Join(want, "\n"))
	}
}

// Every cut of a file is found, wherever it is.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := sinks.WriteHistory(path, "test", night{1, 100, "512", "abc", ""}.rows(t, 1)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 7 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if rows, err := sinks.ReadHistory(path); err == nil {
			t.Errorf("the first %d of %d bytes are read as %d rows", n, len(whole), len(rows))
		}
	}
}

// Stores that this program cannot read or begin are refused in one line.
func TestRefusedStores(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	make := func(name, mark string) string {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "aiperf-trend.json"), []byte(mark), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct{ dir, says string }{
		{make("newer", `{"schema": "aiperf.trend/2"}`), "a store of a newer version (aiperf.trend/2), this program reads aiperf.trend/1"},
		{make("other", `{"schema": "x"}`), `aiperf-trend.json names the schema "x"`},
		{make("broken", `{`), "unexpected EOF"},
		{filepath.Join(root, "none"), "no store of results"},
	} {
		_, err := trend.Open(c.dir)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.dir, err, c.says)
		}
	}
	full := filepath.Join(root, "full")
	if err := os.MkdirAll(filepath.Join(full, "results"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := trend.Create(full); err == nil || !strings.Contains(err.Error(), "no store of results, and not empty") {
		t.Errorf("a directory with other files: %v", err)
	}
}

// An accepted change is no alarm.
func TestAccept(t *testing.T) {
	t.Parallel()
	s, _ := create(t)
	for i, rows := range history(t, 34, 30, 0.08) {
		add(t, s, rows, began.AddDate(0, 0, i))
	}
	rs, _, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Accept(rs[30], "c030", "larger model", began); err != nil {
		t.Fatal(err)
	}
	known, err := s.ReadAccepted()
	if err != nil {
		t.Fatal(err)
	}
	x := series(t, trend.Judge(rs, trend.Terms{Accepted: known}), ttft)
	if len(x.Changes) != 1 || x.Changes[0].Accepted != "c030" || x.Alarm(&x.Changes[0]) {
		t.Errorf("changes %+v", x.Changes)
	}
	if _, left, err := s.Read(); err != nil || len(left) > 0 {
		t.Errorf("left out %v, %v", left, err)
	}
}
