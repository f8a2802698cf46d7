package report

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// maxPartsShown is how many targets, or models, a screen holds; the table of
// metrics has all.
const maxPartsShown = 8

// parts tell several targets apart, and several models.
func (r *Report) parts(s *sheet) {
	for _, kind := range []string{"target", "model"} {
		of := slices.DeleteFunc(slices.Clone(r.Parts), func(p metrics.Part) bool { return p.Kind != kind })
		if len(of) == 0 {
			continue
		}
		g := grid{head: []string{"By " + kind, "n", "errors", "TTFT p50", "latency p50", "p99", ""}, left: 1}
		names := partNames(of)
		for i, p := range of {
			if i == maxPartsShown {
				g.rows = append(g.rows, []string{
					fmt.Sprintf("… and %d more in metrics", len(of)-maxPartsShown), "", "",
					"", "", "", "",
				})
				break
			}
			g.rows = append(g.rows, partRow(names[i], p))
		}
		g.write(s)
	}
}

// partNames are the names of parts without what all addresses have in common:
// the scheme and the path.
func partNames(of []metrics.Part) (names []string) {
	paths := map[string]bool{}
	for _, p := range of {
		_, address, _ := strings.Cut(p.Name, "://")
		host, path, _ := strings.Cut(address, "/")
		path, mark, marked := strings.Cut(path, "#")
		if marked {
			mark = "#" + mark
		}
		paths[path] = true
		names = append(names, host+mark)
	}
	for i, p := range of {
		if p.Kind != "target" || len(paths) > 1 {
			names[i] = p.Name
		}
		names[i] = words.Clip(names[i], 28)
	}
	return names
}

// partRow is a line about one target or model.
func partRow(name string, p metrics.Part) []string {
	const none = noneMark
	count := func(tag string) string {
		if s, ok := p.Full(tag); ok {
			return words.Whole(int64(s.Avg))
		}
		return "0"
	}
	row := []string{name, count(metrics.RequestCount), count(metrics.ErrorRequestCount), none, none, none, ""}
	if s, ok := p.Full(metrics.TimeToFirstToken); ok {
		row[3] = words.Millis(s.P50)
	}
	if s, ok := p.Full(metrics.RequestLatency); ok {
		row[4], row[5] = words.Millis(s.P50), words.Millis(s.P99)
	}
	return row
}
