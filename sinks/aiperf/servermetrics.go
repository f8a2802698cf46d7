package aiperf

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// Pages are what is written of servers' pages of metrics beside their samples.
type Pages struct {
	Formats  []string                               // of server_metrics_export: json, csv, jsonl, parquet
	Families map[string]map[string]telemetry.Family `json:"-"` // by source, then name: help texts and types
}

// pageSet is what the files of server metrics are made of.
type pageSet struct {
	*RunInfo
	slice     time.Duration
	families  map[string]map[string]telemetry.Family
	histories telemetry.Histories
	sources   []string // those that were read, in order
}

// readPages reads what servers said; nil where no page could be read, or is asked for.
func (w *Writer) readPages() (*pageSet, error) {
	if w.Pages == nil || len(w.Pages.Formats) == 0 || w.Samples == nil {
		return nil, nil
	}
	set := &pageSet{RunInfo: w.Info, slice: w.Slice, families: w.Pages.Families, histories: telemetry.Histories{}}
	err := w.Samples(func(s telemetry.Sample) {
		if s.Collector == "server" {
			set.histories.Add(s)
		}
	})
	if err != nil {
		return nil, err
	}
	for source, h := range set.histories {
		if len(h.Looks) > 0 {
			set.sources = append(set.sources, source)
		}
	}
	if len(set.sources) == 0 {
		return nil, nil
	}
	slices.Sort(set.sources)
	return set, nil
}

// writePages writes the files server_metrics_export of what is asked for.
func (w *Writer) writePages() error {
	set := w.pages
	if set == nil {
		return nil
	}
	for _, f := range []struct {
		format, name string
		write        func(name string) error
	}{
		{"json", w.names.PagesJSON, func(name string) error { return w.putMade(name, set.json) }},
		{"csv", w.names.PagesCSV, func(name string) error { return w.putMade(name, set.csv) }},
		{"jsonl", w.names.PagesJSONL, func(name string) error { return w.stream(name, set.lines) }},
		{"parquet", w.names.PagesParquet, func(name string) error { return w.stream(name, set.parquet) }},
	} {
		if !slices.Contains(w.Pages.Formats, f.format) {
			continue
		}
		if err := f.write(f.name); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(w.Dir, f.name), err)
		}
	}
	return nil
}

// putMade writes a small file.
func (w *Writer) putMade(name string, makeIt func() ([]byte, error)) error {
	b, err := makeIt()
	if err != nil {
		return err
	}
	return w.put(w.Dir, name, "server metrics", b)
}

// stream writes a file that may be large; one without rows is not kept.
func (w *Writer) stream(name string, write func(*sinks.Artifact) (rows int64, err error)) error {
	a, err := sinks.CreateArtifact(w.Dir, name)
	if err != nil {
		return err
	}
	defer a.Abort()
	rows, err := write(a)
	if err != nil || rows == 0 {
		return err
	}
	f, err := a.Commit("server metrics", "", rows)
	if err == nil {
		w.files = append(w.files, f)
	}
	return err
}

// pageSeries is one series as AIPerf tells of it over a window.
type pageSeries struct {
	*telemetry.Series
	name, help, unit string
	source           string
	from, to, ref    int // looks of the window, and the one before it; ref is -1 where there is none
	start, end       int64
}

// within goes through the series of the sources that have a look between start and end.
func (p *pageSet) within(start, end int64) iter.Seq[*pageSeries] {
	return func(yield func(*pageSeries) bool) {
		for _, source := range p.sources {
			for s := range p.histories[source].Series {
				family := p.families[source][s.Metric]
				if strings.HasSuffix(s.Metric, "_uptime") || strings.Contains(s.Metric, "_uptime_") {
					continue // how long the server runs
				}
				from, _ := slices.BinarySearch(s.At, start)
				to, found := slices.BinarySearch(s.At, end)
				if !found {
					to--
				}
				if from > to {
					continue
				}
				name := s.Metric
				if s.Type == telemetry.Counter {
					name = strings.TrimSuffix(name, "_total")
				}
				v := &pageSeries{
					s, name, family.Help, inferUnit(name, family.Help), source, from, to, from - 1, start,
					end,
				}
				if !yield(v) {
					return
				}
			}
		}
	}
}

// window is the time that the profiling phases take, with the look after their end, or
// the last that had news.
func (p *pageSet) window(news bool) (start, end int64) {
	start, end = p.Start.Sub(p.T0).Nanoseconds(), p.End.Sub(p.T0).Nanoseconds()
	for _, source := range p.sources {
		for _, l := range p.histories[source].Looks {
			if l.New || !news {
				end = max(end, l.At)
			}
		}
	}
	return start, end
}

// warmup is the time that the warmup phases take; false without any. It ends with the look
// after them.
func (p *pageSet) warmup() (start, end int64, ok bool) {
	for _, ph := range p.Phases {
		if !ph.Warmup {
			continue
		}
		if !ok {
			start, ok = ph.Start, true
		}
		end = ph.End
	}
	if !ok || start >= end {
		return 0, 0, false
	}
	profiling := p.Start.Sub(p.T0).Nanoseconds()
	for _, source := range p.sources {
		for _, l := range p.histories[source].Looks {
			if l.At < profiling {
				end = max(end, l.At)
			}
		}
	}
	return start, end, true
}

// json is server_metrics_export.json, schema 1.1.
func (p *pageSet) json() ([]byte, error) {
	input, err := p.Config.json()
	if err != nil {
		return nil, err
	}
	t0 := p.T0.UnixNano()
	start, end := p.Start.Sub(p.T0).Nanoseconds(), p.End.Sub(p.T0).Nanoseconds()
	ranges, infos := object{}, object{}
	if start < end {
		ranges = ranges.with("profiling", object{}.with("start_ns", t0+start).with("end_ns", t0+end))
	}
	warmStart, warmEnd, warmed := p.warmup()
	if warmed {
		ranges = ranges.with("warmup", object{}.with("start_ns", t0+warmStart).with("end_ns", t0+warmEnd))
	}
	for _, source := range p.sources {
		infos = infos.with(source, endpointInfo(p.histories[source].Looks, t0))
	}
	summary := object{}.with("endpoints_configured", p.sources).with("endpoints_successful", p.sources).
		with("start_time", localTime(p.Start)).with("end_time", localTime(p.End)).with("endpoint_info",
		infos).with("phase_time_ranges", ranges)
	o := object{}.with("schema_version", "1.1").with("aiperf_version", p.Version).with("benchmark_id", p.BenchmarkID).
		with("summary", summary).with("metrics_phase", "profiling").with("metrics", p.metrics(p.window(false)))
	if warmed {
		o = o.with("warmup_metrics", p.metrics(warmStart, warmEnd))
	}
	return indented(o.with("input_config", input))
}

// endpointInfo is how a source was read.
func endpointInfo(looks []telemetry.Look, t0 int64) object {
	var news []int64
	latency := 0.0
	for _, l := range looks {
		latency += float64(l.Took) / 1e6 / float64(len(looks))
		if l.New {
			news = append(news, l.At)
		}
	}
	o := object{}.with("total_fetches", len(looks)).with("first_fetch_ns", t0+looks[0].At).with("last_fetch_ns",
		t0+looks[len(looks)-1].At).
		with("avg_fetch_latency_ms", number(latency)).with("unique_updates", len(news))
	if len(news) == 0 {
		return o
	}
	first, last := news[0], news[len(news)-1]
	mean := 0.0
	if len(news) > 1 {
		mean = float64(last-first) / 1e6 / float64(len(news)-1)
	}
	o = o.with("first_update_ns", t0+first).with("last_update_ns", t0+last).with("duration_seconds",
		number(float64(last-first)/1e9)).with("avg_update_interval_ms", number(mean))
	if len(news) > 1 {
		gaps := make([]float64, len(news)-1)
		for i := range gaps {
			gaps[i] = float64(news[i+1] - news[i])
		}
		slices.Sort(gaps)
		o = o.with("median_update_interval_ms", number(stats.Quantile(gaps, 0.5)/1e6))
	}
	return o
}

// metrics are the series of a window by the names of their metrics.
func (p *pageSet) metrics(start, end int64) object {
	t0 := p.T0.UnixNano()
	type metric struct {
		head   object
		series []any
	}
	byName := map[string]*metric{}
	for s := range p.within(start, end) {
		m := byName[s.name]
		if m == nil {
			m = &metric{head: object{}.with("type", s.Type).with("description", s.help)}
			if s.unit != "" {
				m.head = m.head.with("unit", s.unit)
			}
			byName[s.name] = m
		}
		cut := s.slices(p.slice)
		values, buckets := s.stats(cut)
		o := object{}.with("endpoint_url", s.source)
		if len(s.Labels) > 0 {
			o = o.with("labels", labelsJSON(s.Labels))
		}
		o = o.with("stats", values)
		if buckets != nil {
			o = o.with("buckets", s.bucketsJSON(buckets))
		}
		if len(cut) > 0 && !(s.Type == telemetry.Histogram && len(values) == 1) {
			var list []object
			for i := range cut {
				list = append(list, cut[i].json(t0))
			}
			o = o.with("timeslices", list)
		}
		m.series = append(m.series, o)
	}
	out := object{}
	for _, name := range sortedKeys(byName) {
		out = out.with(name, byName[name].head.with("series", byName[name].series))
	}
	return out
}

func labelsJSON(labels [][2]string) object {
	o := object{}
	for _, l := range labels {
		o = o.with(l[0], l[1])
	}
	return o
}

func sortedKeys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// lines writes server_metrics_export.jsonl: a line for each look that had news.
func (p *pageSet) lines(to *sinks.Artifact) (rows int64, err error) {
	t0 := p.T0.UnixNano()
	for _, source := range p.sources {
		h := p.histories[source]
		all := slices.Collect(h.Series)
		at := make([]int, len(all)) // the next look of each
		for _, l := range h.Looks {
			said := map[string][]object{}
			for i, s := range all {
				if at[i] == len(s.At) || s.At[at[i]] != l.At {
					continue
				}
				name := s.Metric
				if s.Type == telemetry.Counter {
					name = strings.TrimSuffix(name, "_total")
				}
				if !strings.HasSuffix(name, "_info") {
					said[name] = append(said[name], sampleJSON(s, at[i]))
				}
				at[i]++
			}
			if !l.New {
				continue
			}
			metrics := object{}
			for _, name := range sortedKeys(said) {
				metrics = metrics.with(name, said[name])
			}
			o := object{}.with("endpoint_url", source).with("timestamp_ns", t0+l.At).with("endpoint_latency_ns",
				l.Took).with("metrics", metrics).
				with("request_sent_ns", t0+l.At-l.Took).with("first_byte_ns", t0+l.At)
			b, err := o.append(nil)
			if err == nil {
				_, err = to.Write(append(b[:len(b)-1], p.phaseOf(l.At)...))
			}
			if err != nil {
				return rows, err
			}
			rows++
		}
	}
	return rows, nil
}

// sampleJSON is what a series said at look i.
func sampleJSON(s *telemetry.Series, i int) object {
	o := object{}
	if len(s.Labels) > 0 {
		o = o.with("labels", labelsJSON(s.Labels))
	}
	if s.Type != telemetry.Histogram {
		return o.with("value", number(s.Values[i]))
	}
	buckets := object{}
	for k, le := range s.Edges {
		buckets = buckets.with(pyEdge(le), number(s.Buckets[i][k]))
	}
	return o.with("buckets", buckets).with("sum", number(s.Sums[i])).with("count", number(s.Counts[i]))
}

// phaseOf ends a line with the phase of a moment: the last that had begun. What was read
// before the first belongs to none.
func (p *pageSet) phaseOf(at int64) string {
	profiling, out := -1, "}\n"
	for i, ph := range p.Phases {
		if !ph.Warmup {
			profiling++
		}
		if ph.Start > at {
			break
		}
		o := object{}.with("benchmark_phase", phaseKind(ph.Warmup)).with("phase_index", i)
		if !ph.Warmup {
			o = o.with("profiling_index", profiling)
		}
		b, err := o.with("phase_name", ph.Name).with("phase_kind", phaseKind(ph.Warmup)).append(nil)
		if err != nil {
			return "}\n"
		}
		out = "," + string(b[1:]) + "\n"
	}
	return out
}

// pageColumns are the statistics of a section of the CSV file.
func pageColumns(kind string) []string {
	switch kind {
	case telemetry.Counter:
		return []string{"total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std"}
	case telemetry.Histogram:
		out := []string{"count", "count_rate", "sum", "sum_rate", "avg"}
		for _, q := range pageQuantiles {
			out = append(out, q.name+"_estimate")
		}
		return out
	}
	out := []string{"avg", "min", "max", "std"}
	for _, q := range pageQuantiles {
		out = append(out, q.name)
	}
	return out
}

// pageRow is a series in the CSV file.
type pageRow struct {
	*pageSeries
	endpoint string
	values   object
	buckets  []float64
	labels   map[string]string
	pattern  string
}

// csv is server_metrics_export.csv: a section for each type of metric, and one for what
// is about the server.
func (p *pageSet) csv() ([]byte, error) {
	sections, infos := map[string][]*pageRow{}, []*pageRow{}
	for s := range p.within(p.window(false)) {
		values, buckets := s.stats(s.slices(p.slice))
		row := &pageRow{
			pageSeries: s, endpoint: shownEndpoint(s.source), values: values,
			buckets: buckets, labels: map[string]string{},
		}
		for _, l := range s.Labels {
			row.labels[l[0]] = l[1]
		}
		if s.Type == telemetry.Gauge && strings.HasSuffix(s.name, "_info") {
			infos = append(infos, row)
			continue
		}
		sections[s.Type] = append(sections[s.Type], row)
	}
	b := fmt.Appendf(nil, "# AIPerf Server Metrics Export (CSV)\n# aiperf_version: %s\n# schema_version: 1.0\n# benchmark_id: %s\n# Note: Same benchmark_id and version appear in JSON and Parquet exports\n#\n",
		p.Version, p.BenchmarkID)
	begun := len(b)
	for _, kind := range []string{telemetry.Gauge, telemetry.Counter, telemetry.Histogram, telemetry.Unknown} {
		if len(sections[kind]) == 0 {
			continue
		}
		if len(b) > begun {
			b = append(b, "\r\n"...)
		}
		b = pageSection(b, kind, sections[kind])
	}
	if len(infos) > 0 {
		if len(b) > begun {
			b = append(b, "\r\n"...)
		}
		b = csvLine(b, "Endpoint", "Metric", "Key", "Value", "Description")
		slices.SortStableFunc(infos, func(a, c *pageRow) int {
			return slices.Compare([]string{a.name, a.endpoint}, []string{c.name, c.endpoint})
		})
		for _, r := range infos {
			for _, l := range r.Labels {
				b = csvLine(b, r.endpoint, r.name, l[0], l[1], r.help)
			}
		}
	}
	return b, nil
}

func pageSection(b []byte, kind string, rows []*pageRow) []byte {
	columns, labels := pageColumns(kind), labelOrder(rows)
	head := append(append([]string{"Endpoint", "Type", "Metric", "Unit"}, columns...), labels...)
	head = append(head, "Description")
	if kind == telemetry.Histogram {
		head = append(head, "buckets")
	}
	b = csvLine(b, head...)
	for _, r := range rows {
		for _, l := range labels {
			if _, has := r.labels[l]; has {
				r.pattern += "1"
			} else {
				r.pattern += "0"
			}
		}
	}
	slices.SortStableFunc(rows, func(a, c *pageRow) int {
		return slices.Compare([]string{a.pattern, a.name, a.endpoint, labelText(a.Labels)},
			[]string{c.pattern, c.name, c.endpoint, labelText(c.Labels)})
	})
	for _, r := range rows {
		row := []string{r.endpoint, kind, r.name, r.unit}
		for _, name := range columns {
			row = append(row, pageNumber(r.values.get(name)))
		}
		for _, l := range labels {
			row = append(row, r.labels[l])
		}
		row = append(row, r.help)
		if kind == telemetry.Histogram {
			var parts []string
			for i, n := range r.buckets {
				parts = append(parts, pyEdge(r.Edges[i])+"="+strconv.FormatInt(int64(n), 10))
			}
			row = append(row, strings.Join(parts, ";"))
		}
		b = csvLine(b, row...)
	}
	return b
}

// pageNumber is a statistic in the CSV file.
func pageNumber(v any) string {
	switch v := v.(type) {
	case number:
		return decimals(float64(v), 4)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// labelText is labels as Python prints a dict, by which AIPerf orders series.
func labelText(labels [][2]string) string {
	if len(labels) == 0 {
		return ""
	}
	return python(labelsJSON(labels))
}

// labelOrder are the columns of labels: those that occur together stand together, and of
// them those of one series only before the others.
func labelOrder(rows []*pageRow) (out []string) {
	parent, uses := map[string]string{}, map[string]int{}
	var find func(string) string
	find = func(x string) string {
		if parent[x] == x {
			return x
		}
		return find(parent[x])
	}
	for _, r := range rows {
		for i, l := range r.Labels {
			uses[l[0]]++
			if parent[l[0]] == "" {
				parent[l[0]] = l[0]
			}
			if i > 0 {
				parent[find(l[0])] = find(r.Labels[i-1][0])
			}
		}
	}
	families := map[string][]string{}
	for _, l := range sortedKeys(parent) {
		families[find(l)] = append(families[find(l)], l)
	}
	all := [][]string{}
	for _, f := range families {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for _, f := range all {
		for _, shared := range []bool{false, true} {
			for _, l := range f {
				if uses[l] > 1 == shared {
					out = append(out, l)
				}
			}
		}
	}
	return out
}

// shownEndpoint is an address without its scheme, its query and /metrics.
func shownEndpoint(u string) string {
	_, rest, found := strings.Cut(u, "://")
	if !found {
		rest = u
	}
	rest, _, _ = strings.Cut(rest, "?")
	return strings.TrimSuffix(rest, "/metrics")
}
