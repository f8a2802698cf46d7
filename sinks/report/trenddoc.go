package report

import (
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/trend"
)

// trendDoc is a trend as data.
type trendDoc struct {
	Headline string        `json:"headline"`
	ExitCode int           `json:"exit_code"`
	By       trend.By      `json:"by"`
	Results  []trendResult `json:"results"`
	Series   []trendSeries `json:"series"`
	Breaks   []trendBreak  `json:"breaks,omitempty"`
	Left     []string      `json:"left_out,omitempty"`
}

type trendResult struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Time    time.Time `json:"time"`
	Commit  string    `json:"commit,omitempty"`
	Version string    `json:"version,omitempty"`
	Label   string    `json:"label,omitempty"`
}

type trendSeries struct {
	Cell      string        `json:"cell"`
	Metric    string        `json:"metric"`
	Stat      string        `json:"stat"`
	Unit      string        `json:"unit"`
	Decides   bool          `json:"decides"`
	Current   bool          `json:"current"` // the newest result of the cell belongs to it
	Needs     int           `json:"needs"`   // results from which on a change can be found
	Level     *float64      `json:"level,omitempty"`
	Points    []trendPoint  `json:"points"`
	Changes   []trendChange `json:"changes,omitempty"`
	Withdrawn []trendChange `json:"withdrawn,omitempty"` // later results did not bear them out
}

type trendPoint struct {
	Result string   `json:"result"`
	Value  float64  `json:"value"`
	Low    *float64 `json:"ci_low,omitempty"`
	High   *float64 `json:"ci_high,omitempty"`
	Doubt  string   `json:"doubt,omitempty"`
}

type trendChange struct {
	After    string  `json:"after"` // identities of results
	Until    string  `json:"until"`
	At       string  `json:"at"`    // the most likely first one
	Found    string  `json:"found"` // the one that revealed it
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Change   float64 `json:"change"` // to/from − 1, or the difference
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Ratio    bool    `json:"ratio"`
	P        float64 `json:"p"`
	Gradual  bool    `json:"gradual,omitempty"`
	Harm     bool    `json:"harm"`
	Gain     bool    `json:"gain"`
	New      bool    `json:"new"`
	Accepted string  `json:"accepted,omitempty"`
	Alarm    bool    `json:"alarm"` // exit code 3
}

type trendBreak struct {
	Cell  string `json:"cell"`
	After string `json:"from"` // the first result of the new series
	Why   string `json:"why"`
}

// Doc is the trend as data.
func (t Trend) Doc() any {
	d := trendDoc{
		Headline: t.Headline(), ExitCode: int(t.Exit()), By: t.By, Left: t.Left,
		Results: []trendResult{}, Series: []trendSeries{},
	}
	for _, r := range t.Results {
		d.Results = append(d.Results, trendResult{r.ID, r.Name, r.Time, r.Commit, r.Version, r.Label})
	}
	for _, b := range t.Breaks {
		d.Breaks = append(d.Breaks, trendBreak{b.Cell, b.After.ID, b.Why})
	}
	for _, s := range t.Series {
		x := trendSeries{
			Cell: s.Cell, Metric: s.Key.Tag, Stat: s.Key.Stat, Unit: s.Unit, Decides: s.Decides, Current: s.Current,
			Needs: s.Needs, Changes: changeDocs(s, s.Changes), Withdrawn: changeDocs(s, s.Withdrawn),
		}
		if level, ok := s.Level(); ok {
			x.Level = metrics.OrNil(level)
		}
		for _, p := range s.Points {
			x.Points = append(x.Points, trendPoint{
				p.Result.ID, p.Value, metrics.OrNil(p.Low), metrics.OrNil(p.High), p.Doubt,
			})
		}
		d.Series = append(d.Series, x)
	}
	return d
}

func changeDocs(s *trend.Series, changes []trend.Change) (out []trendChange) {
	id := func(i int) string { return s.Points[i].Result.ID }
	for i := range changes {
		c := &changes[i]
		out = append(out, trendChange{
			After: id(c.After), Until: id(c.Until), At: id(c.At), Found: id(c.Found), From: c.From, To: c.To,
			Change: c.By, Low: c.Low, High: c.High, Ratio: c.Ratio, P: c.P, Gradual: c.Gradual, Harm: c.Harm,
			Gain: c.Gain, New: c.New, Accepted: c.Accepted, Alarm: s.Alarm(c),
		})
	}
	return out
}
