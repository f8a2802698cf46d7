package aiperf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
)

// GPUs are what is written of GPUs beside their samples.
type GPUs struct {
	Fields []telemetry.GPUField // those that the files have, in order
	Asked  []string             // pages that were named, without secrets
	Shown  bool                 // the console has their tables
	Users  float64              // concurrency that was asked for; 0 for none
}

// gpu is one GPU of one page.
type gpu struct {
	index                        int
	platform                     string // nvidia or amd
	name, uuid, bus, device      string
	hostname, namespace, podName string
	at                           []int64     // looks that had news
	values                       [][]float64 // by field, then look; NaN: not said
	stats                        []object    // by field; nil: none in the window
}

// gpuSource is one page.
type gpuSource struct {
	url  string
	gpus []*gpu
}

// gpuSet is what the files say of GPUs.
type gpuSet struct {
	*GPUs
	*RunInfo
	sources    []gpuSource       // that were read, by address
	collectors map[string]string // by address
	power      []power
}

// readGPUs makes them of the run's samples. It has none where no page was read.
func (w *Writer) readGPUs() (*gpuSet, error) {
	set := &gpuSet{GPUs: w.GPUs, RunInfo: w.Info, collectors: map[string]string{}}
	if w.GPUs == nil || w.Samples == nil {
		return set, nil
	}
	all := telemetry.Histories{}
	err := w.Samples(func(s telemetry.Sample) {
		if telemetry.IsGPU(s.Collector) {
			all.Add(s)
			set.collectors[s.Source] = s.Collector
		}
	})
	if err != nil {
		return nil, err
	}
	for _, source := range sortedKeys(all) {
		if len(all[source].Looks) > 0 {
			set.sources = append(set.sources, gpuSource{source, set.of(all[source], set.collectors[source])})
		}
	}
	return set, nil
}

// of are the GPUs of a page, by index, with their statistics over the profiling phases.
// AIPerf leaves out a page that says what it said before; a library is asked anew.
func (s *gpuSet) of(h *telemetry.History, collector string) (out []*gpu) {
	var looks []int64
	for _, l := range h.Looks {
		if l.New || collector == telemetry.NVML {
			looks = append(looks, l.At)
		}
	}
	byIndex := map[int]*gpu{}
	for series := range h.Series {
		if series.Type == telemetry.Histogram {
			continue
		}
		labels := map[string]string{}
		for _, l := range series.Labels {
			labels[l[0]] = l[1]
		}
		index, err := strconv.Atoi(first(labels, "gpu", "gpu_id"))
		field := slices.IndexFunc(s.Fields, func(f telemetry.GPUField) bool {
			return f.Of(collector) && f.Source == strings.TrimSuffix(series.Metric, "_total")
		})
		if err != nil || field < 0 {
			continue
		}
		g := byIndex[index]
		if g == nil {
			g = &gpu{
				index: index, platform: s.Fields[field].Platform(), name: first(labels, "modelName", "card_model"),
				uuid: first(labels, "UUID", "serial_number"),
				bus:  labels["pci_bus_id"], device: labels["device"], hostname: first(labels, "hostname", "Hostname"),
				namespace: labels["namespace"], podName: labels["pod"], at: looks,
				values: make([][]float64, len(s.Fields)), stats: make([]object, len(s.Fields)),
			}
			byIndex[index] = g
			out = append(out, g)
		}
		if g.values[field] == nil {
			g.values[field] = slices.Repeat([]float64{math.NaN()}, len(looks))
		}
		for i, at := range series.At {
			if k, found := slices.BinarySearch(looks, at); found {
				g.values[field][k] = series.Values[i] * s.Fields[field].Scale
			}
		}
	}
	slices.SortFunc(out, func(a, b *gpu) int { return a.index - b.index })
	for _, g := range out {
		g.preferFirst(s.Fields)
		g.summarize(s.Fields, s.Start.Sub(s.T0).Nanoseconds(), math.MaxInt64)
	}
	return out
}

// summarize makes the statistics of the looks from start to end.
func (g *gpu) summarize(fields []telemetry.GPUField, start, end int64) {
	from, _ := slices.BinarySearch(g.at, start)
	to, found := slices.BinarySearch(g.at, end)
	if found {
		to++
	}
	for i := range fields {
		if g.values[i] != nil {
			g.stats[i] = fieldStats(fields[i], g.values[i][:to], min(from, to))
		}
	}
}

// first is the first of labels that is there.
func first(labels map[string]string, names ...string) string {
	for _, name := range names {
		if labels[name] != "" {
			return labels[name]
		}
	}
	return ""
}

// preferFirst drops figures that an earlier field of the same key has.
func (g *gpu) preferFirst(fields []telemetry.GPUField) {
	seen := map[string]bool{}
	for i := range fields {
		if seen[fields[i].Key] {
			g.values[i] = nil
		}
		seen[fields[i].Key] = seen[fields[i].Key] || g.values[i] != nil
	}
}

// fieldStats are AIPerf's of a metric from look from on: plain ones of a gauge, and of a
// counter by how much it grew since the look before.
func fieldStats(f telemetry.GPUField, values []float64, from int) object {
	if values == nil {
		return nil
	}
	known := slices.DeleteFunc(slices.Clone(values[from:]), math.IsNaN)
	if len(known) == 0 {
		return nil
	}
	o := object{}.with("unit", f.Unit)
	if f.Counter {
		first := known[0]
		for _, v := range values[:from] {
			if !math.IsNaN(v) {
				first = v
			}
		}
		return o.with("avg", number(max(known[len(known)-1]-first, 0)))
	}
	sum := 0.0
	for _, v := range known {
		sum += v
	}
	mean := sum / float64(len(known))
	sorted := slices.Sorted(slices.Values(known))
	o = o.with("avg", number(mean))
	for _, q := range pageQuantiles {
		o = o.with(q.name, number(stats.Quantile(sorted, q.q)))
	}
	return o.with("min", number(sorted[0])).with("max", number(sorted[len(sorted)-1])).with("std",
		number(sampleStd(known, mean))).
		with("count", len(values)-from).with("sum", number(sum))
}

// configured are the pages that were named or read.
func (s *gpuSet) configured() (urls []string) {
	if s.GPUs == nil {
		return []string{}
	}
	urls = append([]string{}, s.Asked...)
	for _, source := range s.sources {
		urls = append(urls, source.url)
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

func (s *gpuSet) read() []string {
	urls := []string{}
	for _, source := range s.sources {
		urls = append(urls, source.url)
	}
	return urls
}

// json is the member telemetry_data.
func (s *gpuSet) json() object {
	summary := object{}.with("endpoints_configured", s.configured()).with("endpoints_successful", s.read()).
		with("start_time", localTime(s.Start)).with("end_time", localTime(s.End))
	endpoints := object{}
	for _, source := range s.sources {
		gpus := object{}
		for _, g := range source.gpus {
			metrics := object{}
			for i, f := range s.Fields {
				if g.stats[i] != nil {
					metrics = metrics.with(f.Key, g.stats[i])
				}
			}
			o := object{}.with("gpu_index", g.index).with("gpu_name", g.name).with("gpu_uuid", g.uuid).with("platform",
				g.platform)
			o = o.withText("hostname", g.hostname).withText("namespace", g.namespace).withText("pod_name", g.podName)
			gpus = gpus.with(fmt.Sprintf("gpu_%d", g.index), o.with("metrics", metrics))
		}
		endpoints = endpoints.with(shownEndpoint(source.url), object{}.with("gpus", gpus))
	}
	return object{}.with("summary", summary).with("endpoints", endpoints).with("error_summary", []string{})
}

// withText appends a member that is absent where it says nothing.
func (o object) withText(key, text string) object {
	if text == "" {
		return o
	}
	return o.with(key, text)
}

// csv is the block of the summary's CSV file.
func (s *gpuSet) csv(b []byte) []byte {
	optional := []struct {
		title string
		of    func(*gpu) string
	}{
		{"Hostname", func(g *gpu) string { return g.hostname }},
		{"Namespace", func(g *gpu) string { return g.namespace }},
		{"Pod Name", func(g *gpu) string { return g.podName }},
	}
	head := append([]string{"Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"}, csvStats()...)
	var more []func(*gpu) string
	for _, o := range optional {
		if slices.ContainsFunc(s.sources, func(src gpuSource) bool {
			return slices.ContainsFunc(src.gpus, func(g *gpu) bool { return o.of(g) != "" })
		}) {
			head, more = append(head, o.title), append(more, o.of)
		}
	}
	b = csvLine(append(b, "\r\n\r\n"...), head...)
	for _, source := range s.sources {
		for _, g := range source.gpus {
			for i, f := range s.Fields {
				if g.stats[i] == nil {
					continue
				}
				row := []string{
					shownEndpoint(source.url), strconv.Itoa(g.index), g.name,
					g.uuid, g.platform, f.Name + " (" + f.Unit + ")",
				}
				for _, name := range csvStats() {
					v, _ := g.stats[i].get(name).(number)
					if g.stats[i].get(name) == nil {
						row = append(row, "")
						continue
					}
					row = append(row, decimals(float64(v), 2))
				}
				for _, of := range more {
					row = append(row, of(g))
				}
				b = csvLine(b, row...)
			}
		}
	}
	return b
}

// lines writes gpu_telemetry_export.jsonl: a line for each GPU at each look that had news.
func (s *gpuSet) lines(to *sinks.Artifact) (rows int64, err error) {
	t0 := s.T0.UnixNano()
	for _, source := range s.sources {
		if len(source.gpus) == 0 {
			continue
		}
		for k, at := range source.gpus[0].at {
			for _, g := range source.gpus {
				data := object{}
				for i, f := range s.Fields {
					if v := g.values[i]; v != nil && !math.IsNaN(v[k]) {
						data = data.with(f.Key, number(v[k]))
					}
				}
				if len(data) == 0 {
					continue
				}
				o := object{}.with("gpu_index", g.index).with("gpu_uuid", g.uuid).with("gpu_model_name", g.name)
				o = o.withText("pci_bus_id", g.bus).withText("device", g.device).withText("hostname",
					g.hostname).withText("namespace", g.namespace).withText("pod_name", g.podName)
				b, err := o.with("platform", g.platform).with("timestamp_ns", t0+at).with("telemetry_source_url",
					source.url).with("telemetry_data", data).append(nil)
				if err == nil {
					_, err = to.Write(append(b, '\n'))
				}
				if err != nil {
					return rows, err
				}
				rows++
			}
		}
	}
	return rows, nil
}

// console are AIPerf's tables, one for each GPU, where they were asked for.
func (s *gpuSet) console(b *strings.Builder) {
	if s.GPUs == nil || !s.Shown {
		return
	}
	for _, p := range s.power {
		p.console(b)
	}
	read := s.read()
	head := fmt.Sprintf("AIPerf | GPU Telemetry Summary\n%d/%d telemetry sources reachable\n", len(read),
		len(s.configured()))
	for _, u := range s.configured() {
		mark := " ✘ (unreachable)"
		if slices.Contains(read, u) {
			mark = " ✔"
		}
		head += "• " + shownEndpoint(u) + mark + "\n"
	}
	if len(read) == 0 {
		b.WriteString(head + "No GPU telemetry data collected during the benchmarking run.\n\n")
		return
	}
	for _, source := range s.sources {
		for _, g := range source.gpus {
			t := &box{
				title: fmt.Sprintf("%s | GPU %d | %s", shownEndpoint(source.url), g.index, g.name),
				head:  append([]string{"Metric"}, consoleStats()...), left: -1,
			}
			for i, f := range s.Fields {
				if g.stats[i] == nil {
					continue
				}
				row := []string{f.Name + " (" + f.Unit + ")"}
				for _, name := range consoleStats() {
					v, ok := g.stats[i].get(name).(number)
					switch {
					case !ok:
						row = append(row, "N/A")
					case math.Abs(float64(v)) >= 1e6:
						row = append(row, strconv.FormatFloat(float64(v), 'e', 2, 64))
					default:
						row = append(row, words.Decimals(float64(v), 2))
					}
				}
				t.rows = append(t.rows, row)
			}
			if head != "" {
				b.WriteString(head + "\n")
				head = ""
			}
			t.write(b)
		}
	}
}
