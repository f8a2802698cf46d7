package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/schema"
)

// What makes up its loads by itself begins with one slot for each worker, and says so. What one
// worker alone can do, and values that were written down, stay as they are.
func TestSearchesBeginWithAUserForEachWorker(t *testing.T) {
	t.Parallel()
	const users = "4 workers: fewer than 4 users are not tried"
	recipe := func(line string) []string {
		return append([]string{"-m", "demo", "--streaming", "--search-recipe"}, strings.Fields(line)...)
	}
	for _, c := range []struct {
		file, want, raised string
		line               []string
	}{
		{line: recipe("max-concurrency-under-sla --ttft-sla-ms 20"), want: "4-1000", raised: users},
		{line: recipe("max-concurrency-under-sla --ttft-sla-ms 20 --concurrency-min 8"), want: "8-1000"},
		{line: recipe("max-concurrency-under-sla --ttft-sla-ms 20 --concurrency-max 3"), want: "1-3"},
		{
			line: recipe("max-concurrency-under-sla --ttft-sla-ms 20 --search-style grid --concurrency-steps 3"),
			want: "[4 32 1000]", raised: users,
		},
		{line: recipe("concurrency-ramp --concurrency-max 64"), want: "[4 6 11 20 35 64]", raised: users},
		{line: recipe("prefill-ttft-curve --isl-steps 2 --isl-max 512"), want: "[256 512] [1]"},
		{
			line: recipe("pareto-sweep --isl-osl-pairs 8/8"), raised: users,
			want: "shape_8_8_c4 shape_8_8_c16 shape_8_8_c64 shape_8_8_c256",
		},
		{line: recipe("pareto-sweep --isl-osl-pairs 8/8 --concurrency 1,16"), want: "shape_8_8_c1 shape_8_8_c16"},
		{
			line: []string{"-m", "demo", "--streaming", "--search-space", "prefill_concurrency:1,64:int", "--concurrency", "64"},
			want: "4-64", raised: "4 workers: fewer than 4 prefills at a time are not tried",
		},
		{line: []string{"-m", "demo", "--search-space", "rate:1,64", "--concurrency", "64"}, want: "1-64"},
		{line: []string{"-m", "demo", "--concurrency", "1,8"}, want: "[1 8]"},
		{
			file: `search: {path: concurrency, range: [1, 512], start: 2, where: ["time_to_first_token < 500"]}`,
			want: "[4 512] [4] from 4", raised: users,
		},
		{
			file: `search: {path: rate, range: [1, 512], where: ["time_to_first_token < 500"]}`,
			want: "[1 512] [1]",
		},
	} {
		src := schema.Source{Command: "profile", Workers: 4}
		if c.file != "" {
			src.Command, src.File = "run", filepath.Join(t.TempDir(), "search.yaml")
			text := "benchmark: {model: demo, endpoint: {url: 'mock:'}, phases: {requests: 100}}\n" + c.file
			if err := os.WriteFile(src.File, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := argv.Parse(c.line, nil, schema.Options())
		if err != nil {
			t.Fatal(err)
		}
		src.Assignments = p.Assigns
		d, err := schema.Load(src)
		if err != nil {
			t.Errorf("%s%s: %v", c.file, c.line, err)
			continue
		}
		var parts []string
		if s := d.Envelope().Search; s != nil {
			parts = append(parts, fmt.Sprint(s.Range))
		}
		if a := d.Sweep().Adaptive; a != nil {
			parts = append(parts, fmt.Sprintf("%g-%g", a.Space[0].Lo, a.Space[0].Hi))
		}
		for _, a := range d.Sweep().Axes {
			parts = append(parts, fmt.Sprint(a.Values))
		}
		for _, s := range d.Sweep().Scenarios {
			parts = append(parts, s.Name)
		}
		if s := d.Envelope().Search; s != nil && s.Start != nil {
			parts = append(parts, fmt.Sprintf("from %g", *s.Start))
		}
		if got := strings.Join(parts, " "); got != c.want || d.Envelope().Raised != c.raised {
			t.Errorf("%s%s: %s, %q; want %s, %q", c.file, c.line, got, d.Envelope().Raised, c.want, c.raised)
		}
		if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, c.raised) ||
			c.raised == "" && strings.Contains(notes, "workers") {
			t.Errorf("%s%s: notes %q", c.file, c.line, notes)
		}
	}
}
