package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// levels are what the intervals of some rows hold, which is one level, and what the marks
// beside them follow from. short leaves out over what they hold.
func (c Comparison) levels(rows []decide.Row, short bool) string {
	level, bounded, decides := 0.0, "", ""
	for _, r := range rows {
		switch m := mark(r); {
		case r.Bounded():
			if !strings.Contains(bounded, m) {
				bounded = strings.TrimPrefix(bounded+" and "+m, " and ")
			}
		case !math.IsNaN(r.Low) && r.Level > 0:
			level = r.Level
			if decided(r) && !strings.Contains(decides, m) {
				decides = strings.TrimPrefix(decides+" and "+m, " and ")
			}
		}
	}
	var said, of []string
	if level > 0 {
		if c.Compared > 1 && !short {
			of = append(of, fmt.Sprintf("%.0f %% over %s", 100*decide.CompareLevel, c.together()))
		}
		if decides != "" {
			of = append(of, decides+": 0 is outside")
		}
		text := fmt.Sprintf("[ ] %.4g %% interval", 100*level)
		if len(of) > 0 {
			text += " (" + strings.Join(of, "; ") + ")"
		}
		said = append(said, text)
	}
	if bounded != "" {
		said = append(said, fmt.Sprintf("%s: %.0f %% certain", bounded, 100*decide.CompareLevel))
	}
	return strings.Join(said, " · ")
}

// Levels are those of the intervals that decide, for the caption of a chart: "98.75 %
// intervals, 90 % where equal or not worse".
func (c Comparison) Levels() string {
	var said []string
	for _, r := range c.Primary() {
		low, _, level := r.Shown()
		if math.IsNaN(low) || !(level > 0) {
			continue
		}
		text := fmt.Sprintf("%.4g %% intervals", 100*level)
		if r.Bounded() {
			text = strings.TrimSuffix(text, " intervals") + " where equal or not worse"
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	slices.SortStableFunc(said, func(a, b string) int { // the general rule before the exception
		return cmp.Compare(strings.Count(a, "where"), strings.Count(b, "where"))
	})
	if len(said) == 1 { // all are of one kind
		return strings.Replace(said[0], " where", " intervals, where", 1)
	}
	return strings.Join(said, ", ")
}

// LevelsSaid is the same beside the sentences, with the reason: they differ from those of single figures.
func (c Comparison) LevelsSaid() string {
	said := c.Levels()
	if general, exception, ok := strings.Cut(said, " intervals, "); ok && !strings.HasPrefix(exception, "where") {
		said = general + " intervals, and " + exception
	}
	if said != "" && c.Compared > 1 {
		said += fmt.Sprintf(", so that %s hold at %.0f %%", c.together(), 100*decide.CompareLevel)
	}
	return said
}

// together names the metrics that share the level of the intervals; where several cells or
// candidates share it as well, it counts them.
func (c Comparison) together() string {
	var names []string
	for _, r := range c.Primary() {
		names = append(names, shortName(r))
	}
	if len(names) != c.Compared || c.severalCells() {
		return fmt.Sprintf("all %d comparisons", c.Compared)
	}
	return words.And(names) + " together"
}

// finds says how small a difference the comparison shows four times in five; a smaller one
// may be found by luck.
func (c Comparison) finds() string {
	var relative, shares []decide.Row
	for _, r := range c.Rows {
		switch {
		case !r.Primary || math.IsNaN(r.Detectable) || math.IsInf(r.Detectable, 0):
		case r.Share():
			shares = append(shares, r)
		default:
			relative = append(relative, r)
		}
	}
	var parts []string
	for _, rows := range [][]decide.Row{relative, shares} { // per cent and points are not one scale
		if len(rows) == 0 {
			continue
		}
		by := func(a, b decide.Row) int { return cmp.Compare(a.Detectable, b.Detectable) }
		least, most := slices.MinFunc(rows, by), slices.MaxFunc(rows, by)
		from, to := sized(least, least.Detectable), sized(most, most.Detectable)
		switch named := len(relative) > 0 && len(shares) > 0 && least.Share(); {
		case from != to && shortName(least) == shortName(most):
			parts = append(parts, fmt.Sprintf("%s to %s (%s)", from, to, shortName(least)))
		case from != to:
			parts = append(parts, fmt.Sprintf("%s (%s) to %s (%s)", from, shortName(least), to, shortName(most)))
		case named:
			parts = append(parts, from+" ("+shortName(least)+")")
		default:
			parts = append(parts, from)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "smallest change this test finds (80 % power): " + strings.Join(parts, ", ")
}
