package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// told is the small line above the answer: the experiment, the model, the servers, the
// day and how long it took.
func (p *Page) told(d *chart.Data) {
	kinds, servers := asked(d)
	model := strings.Join(slices.DeleteFunc(append([]string{words.Clip(d.Model, serverLong)}, kinds...),
		func(s string) bool { return s == "" }), " · ")
	when := d.Day()
	if d.Took > 0 && when != "" {
		when += " · " + words.Span(d.Took)
	}
	for _, text := range []string{d.Name, model, few(servers), when} {
		if text != "" {
			p.Told = append(p.Told, text)
		}
	}
}

// serversMost is how many servers the head names.
const serversMost = 3

// serverLong is how many characters of an address, or of a name, the head has room for.
const serverLong = 120

func few(list []string) string {
	if n := len(list) - serversMost; n > 0 {
		return strings.Join(list[:serversMost], " · ") + " · " + words.Count(n, "more server")
	}
	return strings.Join(list, " · ")
}

// asked is which API of which servers the cells ask, each server behind its name in a
// comparison. What may be secret in an address is masked, whatever the file says.
func asked(d *chart.Data) (kinds, servers []string) {
	add := func(to *[]string, text string) {
		if text = words.Clip(text, serverLong); text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	systems, named := systems(d), map[string][]string{}
	for _, dir := range d.Dirs {
		b, err := os.ReadFile(filepath.Join(dir, resultdir.ResolvedName))
		if err != nil {
			continue // another program's, or an older one's
		}
		var doc struct {
			Cells []struct {
				ID        string
				Benchmark struct {
					Endpoint struct {
						Type      string
						URLs      []string
						Streaming bool
					}
				}
			}
		}
		if json.Unmarshal(b, &doc) != nil {
			continue
		}
		for _, c := range doc.Cells {
			e := c.Benchmark.Endpoint
			kind := e.Type
			if e.Streaming {
				kind += ", streaming"
			}
			add(&kinds, kind)
			for _, u := range e.URLs {
				shown := words.Clip(secret.URL(u), serverLong)
				add(&servers, shown)
				if name := systems[[2]string{dir, c.ID}]; name != "" && name != u && name != shown &&
					!slices.Contains(named[shown], name) {
					named[shown] = append(named[shown], name)
				}
			}
		}
	}
	for i, s := range servers {
		if len(servers) > 1 && len(named[s]) == 1 {
			servers[i] = named[s][0] + " " + s
		}
	}
	return kinds, servers
}

// systems are the names by which a comparison tells systems apart, by the directory and the
// identity of their cells.
func systems(d *chart.Data) map[[2]string]string {
	out := map[[2]string]string{}
	for _, c := range d.Cells {
		out[[2]string{c.Dir, c.ID}] = words.Clip(d.System(c), serverLong)
	}
	return out
}

var (
	ends        = regexp.MustCompile(`\[([^][ ]+), ([^][ ]+)\]`)
	anyInterval = regexp.MustCompile(`\[[^][ \x{a0}]+,[ \x{a0}][^][ \x{a0}]+\]`) // also one that is joined
	percentile  = regexp.MustCompile(` (p[0-9]+(?:\.[0-9]+)?\b)`)
)

// joinedUnit keeps a number and its unit on one line, a percentile and what it is of, and the
// ends of an interval, and no line begins with a dot.
func joinedUnit(text string) string {
	text = strings.NewReplacer(" · ", "\u00a0· ", " %", "\u00a0%", " ms", "\u00a0ms", " tok/s",
		"\u00a0tok/s", " req/s", "\u00a0req/s").Replace(text)
	text = ends.ReplaceAllString(text, "[$1,\u00a0$2]")
	return percentile.ReplaceAllString(text, "\u00a0$1")
}
