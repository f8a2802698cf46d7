package telemetry_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/telemetry"
)

// said is a page as short lines: metric{labels} kind value.
func said(p *telemetry.Page) (out []string) {
	for _, f := range p.Families {
		for _, v := range f.Values {
			out = append(out, fmt.Sprintf("%s%s %s %v", f.Name, v.Labels, v.Kind, v.V))
		}
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
		doubts     []string
	}{
		{
			"types", "# HELP a Things.\n# TYPE a gauge\na 1.5\n# TYPE b_total counter\nb_total{x=\"y\"} 2 1700000000000\nc 3\n",
			[]string{"a gauge 1.5", `b_total{"x":"y"} counter 2`, "c unknown 3"},
			nil,
		},
		{
			"histogram", "# TYPE h histogram\nh_bucket{m=\"x\",le=\"0.5\"} 1\nh_bucket{m=\"x\",le=\"+Inf\"} 3\nh_sum{m=\"x\"} 4.5\nh_count{m=\"x\"} 3\n",
			[]string{
				`h{"le":"0.5","m":"x"} bucket 1`, `h{"le":"+Inf","m":"x"} bucket 3`, `h{"m":"x"} count 3`,
				`h{"m":"x"} sum 4.5`,
			},
			nil,
		},
		{"summary", "# TYPE s summary\ns{quantile=\"0.5\"} 2\ns_sum 6\ns_count 3\n", []string{`s{"quantile":"0.5"} quantile 2`, "s count 3", "s sum 6"}, nil},
		{
			"OpenMetrics with exemplars", "# TYPE r counter\n# HELP r Requests.\n# UNIT r requests\nr_total{a=\"b\"} 7 1700000000.5 # {trace_id=\"x\"} 1 2\nr_created{a=\"b\"} 1.7e9\n# TYPE i info\ni_info{v=\"1\"} 1\n# TYPE q unknown\nq 2\n# EOF\n",
			[]string{`i_info{"v":"1"} unknown 1`, "q unknown 2", `r_total{"a":"b"} counter 7`},
			nil,
		},
		{
			"not finite", "# TYPE a gauge\na{k=\"1\"} NaN\na{k=\"2\"} +Inf\na{k=\"3\"} 4\n# TYPE h histogram\nh_bucket{le=\"1\"} NaN\nh_count 2\nh_sum -Inf\n",
			[]string{`a{"k":"3"} gauge 4`, "h count 2"},
			nil,
		},
		{"repeated", "# TYPE a gauge\na{k=\"1\"} 1\na{k=\"1\"} 2\n", []string{`a{"k":"1"} gauge 1`}, []string{"a series is repeated; its first sample is used"}},
		{
			"wrong types", "# TYPE a gauge\n# TYPE a counter\na 1\nb 1\n# TYPE b gauge\n# TYPE c banana\nc 5\n",
			[]string{"a gauge 1", "b unknown 1", "c unknown 5"},
			[]string{"a TYPE line that is repeated or comes after the samples is ignored"},
		},
		{"negative histogram", "# TYPE h histogram\nh_bucket{le=\"1\"} -4\nh_count 2\nh_sum 1\n", []string{"h count 2", "h sum 1"}, []string{"lines that are not Prometheus text are left out"}},
		{"broken lines", "a 1\nb{x=\"y\nc{} three\nno value\n d 2\n", []string{"a unknown 1", "d unknown 2"}, []string{"lines that are not Prometheus text are left out"}},
		{"hostile labels", "a{x=\"\\\"}\\n{\\\\ \x07 ключ\",le=\"</script>\"} 1\n", []string{`a{"le":"\u003c/script\u003e","x":"\"}\n{\\ \u0007 ключ"} unknown 1`}, nil},
		{"quoted name", "{\"my.metric\",x=\"y\"} 1\n", []string{`my.metric{"x":"y"} unknown 1`}, nil},
		{"long labels", "a{x=\"" + strings.Repeat("z", 5000) + "\"} 1\nb 2\n", []string{"b unknown 2"}, []string{"series with more than 4 KiB of labels are left out"}},
		{"no line end", "a 1", []string{"a unknown 1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := telemetry.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, said(p)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.doubts, p.Doubts); d != "" {
				t.Error(d)
			}
		})
	}
}

// Help and unit travel with the family.
func TestParseWords(t *testing.T) {
	t.Parallel()
	p, err := telemetry.Parse([]byte("# HELP vllm:time_to_first_token_seconds First \\\\ token.\n# TYPE vllm:time_to_first_token_seconds gauge\nvllm:time_to_first_token_seconds 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Families[0]; f.Help != `First \ token.` || f.Unit != "seconds" || f.Type != telemetry.Gauge {
		t.Errorf("%+v", f)
	}
}

// What is something else than a page of metrics is told by what it is.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1}`:                     "the answer is JSON, not Prometheus text",
		"[]":                           "the answer is JSON, not Prometheus text",
		"{}":                           "the answer is JSON, not Prometheus text",
		"<!doctype html><h1>Hi</h1>":   "the answer is HTML, not Prometheus text",
		" \n":                          "the page is empty",
		strings.Repeat("a 1\n", 5<<20): "the page is larger than 16 MiB",
		"a 2\nh{x=y} 1\n":              `the page is not Prometheus text: expected '"' at start of label value, found 'y'`,
	} {
		if _, err := telemetry.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// A hundred thousand series are cut, and that is said.
func TestParseManySeries(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "a{i=\"%d\"} %d\n", i, i)
	}
	p, err := telemetry.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(said(p)); n != 20_000 || len(p.Doubts) != 1 || !strings.Contains(p.Doubts[0], "first 20000 samples") {
		t.Errorf("%d samples, %q", n, p.Doubts)
	}
}

// Whatever a page is, what is made of it is sound.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a 1\n", "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 1\nh_count 2\n", "# EOF",
		"a{b=\"c\"} 1 # {x=\"y\"} 2\n# EOF\n", "# TYPE s summary\ns{quantile=\"x\"} 1\n", "{", "\x00\xff{\xfe=\"\xff\"} 1", "a{b=\"\\",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := telemetry.Parse(b)
		if err != nil {
			return
		}
		for _, fam := range p.Families {
			for _, v := range fam.Values {
				if math.IsNaN(v.V) || math.IsInf(v.V, 0) || v.Labels != "" && len(telemetry.Pairs(v.Labels)) == 0 {
					t.Errorf("%q: %+v", fam.Name, v)
				}
			}
		}
	})
}
