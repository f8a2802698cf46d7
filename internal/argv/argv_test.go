package argv_test

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

func parse(t *testing.T, line string) *argv.Line {
	t.Helper()
	own := []argv.Switch{
		{Name: "output", Short: "o", Arg: "FORMAT"},
		{Name: "resume"},
		{Name: "set", Arg: "PATH=VALUE", Many: true},
	}
	p, err := argv.Parse(strings.Fields(line), own, schema.Options())
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return p
}

// Scripts put common flags in front and change some behind: the last one counts.
func TestTheLastOfASingleValuedFlagCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, last, note string }{
		{"--concurrency 4 --isl 128 --concurrency 8", "--concurrency 8", "--concurrency is given more than once: the last one counts"},
		{"--synthetic-input-tokens-mean 128 --isl 512", "--isl 512", "--isl is given after --synthetic-input-tokens-mean, which sets the same: the last one counts"},
		{"--chunk-table --no-chunk-table", "--no-chunk-table", "--no-chunk-table is given after --chunk-table, which sets the same: the last one counts"},
	} {
		p := parse(t, c.line)
		if !slices.Equal(p.Notes, []string{c.note}) {
			t.Errorf("%s: notes %q, want %q", c.line, p.Notes, c.note)
		}
		want := parse(t, c.last)
		n := 0
		for _, a := range p.Assigns {
			if a.Path == want.Assigns[0].Path {
				n++
				if a.Value.String() != want.Assigns[0].Value.String() {
					t.Errorf("%s: %v, want %v", c.line, a.Value, want.Assigns[0].Value)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s: %d assignments of %s, want one", c.line, n, want.Assigns[0].Path)
		}
	}
	if p := parse(t, "--output json --resume --resume -o text"); p.Get("output") != "text" || len(p.Notes) != 1 {
		t.Errorf("output %q, notes %q", p.Get("output"), p.Notes)
	}
	if p := parse(t, "--api-key one-secret --api-key another"); len(p.Notes) != 1 ||
		strings.Contains(p.Notes[0], "secret") {
		t.Errorf("notes %q: one, without the values", p.Notes)
	}
	if p := parse(t, "--set a=1 --set b=2 --header a:1 --header b:2"); len(p.Notes) > 0 {
		t.Errorf("lists are no repeats: %q", p.Notes)
	}
}

// A flag that takes a value and has none may be short for one that takes none.
func TestWithoutItsValueALongerFlagWasMeant(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"--stream": "did you mean --streaming?", "--requests": "did you mean --request-count?", "--goodput": "",
	} {
		_, err := argv.Parse([]string{word}, nil, schema.Options())
		if err == nil || diag.Of(err).Hint != want {
			t.Errorf("%s: %v, want the hint %q", word, err, want)
		}
	}
}
