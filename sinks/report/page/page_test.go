package page

import (
	"bytes"
	"html"
	"html/template"
	"reflect"
	"regexp"
	"strings"
	"testing"

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
	b, err := (&Page{Name: "x", Charts: []Chart{{ID: "c", SVG: template.HTML(draw.Inline(&draw.Chart{ID: "c", Missing: "x"}, draw.Usual))}}}).render()
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
			if at := string(b[max(0, i-60):min(len(b), i+40)]); !strings.Contains(at, "www.w3.org/2000/svg") && !strings.Contains(at, "clip-path") {
				t.Errorf("%s in the page: …%s…", out, at)
			}
		}
	}
}
