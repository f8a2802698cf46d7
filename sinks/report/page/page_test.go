package page

import (
	"bytes"
	"html"
	"html/template"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

const hostile = `<script>alert(1)</script>"' onload=x javascript:alert(2)`

// poison sets every string below v.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[template.HTML]() {
			v.SetString(hostile)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	}
}

// The numbers below a chart are headed by its axes, stand in one table a panel, name
// what has a name, and have no empty column.
func TestNumbersOfAChart(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	names := draw.Axis{Names: true, Ticks: []draw.Tick{{At: 0, Label: "old"}, {At: 1, Label: "new"}}}
	c := &draw.Chart{Title: "two", Panels: []draw.Panel{
		{Y: draw.Axis{Label: "TTFT (ms)"}, Series: []draw.Series{{Name: "p50", Points: []draw.Point{{X: 4, Y: 20, Low: 19, High: 21.5, Title: "four"}, {X: 8, Y: nan, Low: nan, High: nan}}}}},
		{X: draw.Axis{Label: "concurrency"}, Y: names, Series: []draw.Series{{Rects: []draw.Rect{{X0: 1, X1: 2.5, Y0: 0.6, Y1: 1.4}}}}},
		{X: names, Y: draw.Axis{Label: "tokens"}, Series: []draw.Series{{Name: "got", Points: []draw.Point{draw.At(0.08, 7, "")}}}},
	}}
	c.Panels[0].X = draw.Axis{}
	p := &Page{Charts: []Chart{pictured(c, Half)}}
	want := []Numbers{
		{[]string{"series", "x", "TTFT (ms)", "bar from", "to", "what"}, [][]string{{"p50", "4", "20", "19", "21.5", "four"}, {"p50", "8", "", "", "", ""}}},
		{[]string{"concurrency", "y"}, [][]string{{"1 to 2.5", "new"}}},
		{[]string{"series", "cell", "tokens"}, [][]string{{"got", "old", "7"}}},
	}
	if diff := cmp.Diff(want, p.Charts[0].Numbers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.Panels = c.Panels[:2]
	p.Charts[0] = pictured(c, Half)
	if got := p.Charts[0].Numbers[0].Head[1]; got != "concurrency" {
		t.Errorf("the upper panel is along %q, want what the lower one says", got)
	}
}

// Whatever a server or a file says, the page runs its own script and nothing
// else, and loads nothing.
func TestHostileTextIsInert(t *testing.T) {
	t.Parallel()
	p := &Page{}
	poison(reflect.ValueOf(p).Elem())
	b, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	if n := strings.Count(doc, "<script"); n != 1 {
		t.Errorf("%d scripts, want the page's own", n)
	}
	for _, bad := range []string{"javascript:alert", "onload=x\""} {
		for _, m := range regexp.MustCompile(`(?:href|src)="[^"]*`).FindAllString(doc, -1) {
			if strings.Contains(m, bad) && !strings.HasPrefix(m, `href="#`) {
				t.Errorf("%s came through: %s", bad, m)
			}
		}
	}
	if strings.Count(doc, html.EscapeString("<script>alert(1)")) < 20 {
		t.Error("the hostile text is not shown either")
	}
}

// The policy allows exactly the style and the script that are there.
func TestPolicyAllowsThePageItself(t *testing.T) {
	t.Parallel()
	b, err := (&Page{Name: "x", Charts: []Chart{{
		ID:  "c",
		SVG: template.HTML(draw.Inline(&draw.Chart{ID: "c", Missing: "x"}, draw.Usual)),
	}}}).render()
	if err != nil {
		t.Fatal(err)
	}
	policy := html.UnescapeString(string(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindSubmatch(b)[1]))
	for _, tag := range []string{"style", "script"} {
		body := regexp.MustCompile(`(?s)<` + tag + `>(.*?)</` + tag + `>`).FindSubmatch(b)[1]
		if !strings.Contains(policy, digest(string(body))) {
			t.Errorf("%s: %s does not hold %s", tag, policy, digest(string(body)))
		}
	}
	if len(script) > 20<<10 {
		t.Errorf("the script has %d bytes", len(script))
	}
	for _, out := range []string{"http://", "https://", "url(", "@import", "style="} {
		for i := 0; ; {
			k := bytes.Index(b[i:], []byte(out))
			if k < 0 {
				break
			}
			i += k + len(out)
			if at := string(b[max(0, i-60):min(len(b), i+40)]); !strings.Contains(at, "www.w3.org/2000/svg") &&
				!strings.Contains(at, "clip-path") {
				t.Errorf("%s in the page: …%s…", out, at)
			}
		}
	}
}

// What is typed stays on one line, and is harmless.
func TestFlagsStayWhole(t *testing.T) {
	t.Parallel()
	got := string(whole("to decide <b>: --num-profile-runs 7 (99 % takes 368 requests a cell)"))
	want := `to decide &lt;b&gt;: <span class="typed">--num-profile-runs 7</span> (99 % takes 368 requests a cell)`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The head has the answer in at most two clauses, and what else belongs there below it.
func TestHeadOfTheAnswer(t *testing.T) {
	t.Parallel()
	searched := &chart.Data{Cells: []*chart.Cell{{Decision: "holds"}}}
	for _, c := range []struct {
		d                  *chart.Data
		answer, head, more string
	}{
		{searched, "S serves 8 users; 9 are too many", "S serves 8 users; 9 are too many", ""},
		{
			searched, "S serves 8 users; 16 are too many; the budget ran out; it is near 9",
			"S serves 8 users; 16 are too many", "the budget ran out; it is near 9",
		},
		{&chart.Data{}, "Best: A; at isl 8: B; at isl 9: C", "Best: A; at isl 8: B; at isl 9: C", ""},
		{&chart.Data{}, "Best: A; the limit lies between 1 and 2", "Best: A", "the limit lies between 1 and 2"},
	} {
		rest := []string{"limits: all", "gates: 1 of 1 passed", "slowest: A"}
		p := &Page{Answer: c.answer, More: rest[:1], Rest: rest[1:]}
		p.answered(c.d)
		want := []string{"limits: all", "gates: 1 of 1 passed"}
		if c.more != "" {
			want = append([]string{c.more}, want...)
		}
		if p.Answer != c.head || !slices.Equal(p.More, want) || !slices.Equal(p.Rest, []string{"slowest: A"}) {
			t.Errorf("%q: head %q, more %q, rest %q", c.answer, p.Answer, p.More, p.Rest)
		}
	}
}
