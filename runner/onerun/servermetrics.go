package onerun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// scraped reads pages of metrics while the run goes on.
type scraped struct {
	*telemetry.Scraper
	what   string // for people
	loader *Loader
	silent map[string]bool // sources that did not answer in earlier runs
	notes  []string        // what is to be said at once
}

// startServerMetrics reads the servers' own pages.
func startServerMetrics(ctx context.Context, w *Watched) (Observer, error) {
	conf := &w.Run.Benchmark.ServerMetrics
	if w.Client == nil || !conf.Enabled {
		return nil, nil //nolint:nilnil // nobody to ask, or not wanted
	}
	who := NewInquirer(&w.Run.Benchmark.Endpoint, w.Transport)
	pages := w.Run.loader.pagesOf(w.Run.Targets, conf.URLs, who.header, w.shown)
	return startScraping(ctx, w, who, "server", "server metrics", pages)
}

// Where exporters are looked for on this machine: DCGM's as AIPerf does, AMD's at the port
// that it comes with, where it is asked for.
var (
	dcgmPages = []string{"http://localhost:9400/metrics", "http://localhost:9401/metrics"}
	rocmPages = []string{"http://localhost:5000/metrics"}
)

// startGPUs reads this machine's GPUs through NVML where that is asked for and can be
// done, and otherwise pages of an exporter: those that are named, those of this machine
// where one listens, and those of built-in servers with GPUs.
func startGPUs(ctx context.Context, w *Watched) (Observer, error) {
	bench := &w.Run.Benchmark
	conf := &bench.GPUTelemetry
	if w.Client == nil || !conf.Enabled {
		return nil, nil //nolint:nilnil // nobody to ask, or not wanted
	}
	pages := w.Run.loader.pagesOf(nil, conf.URLs, nil, w.shown)
	for i, u := range bench.Endpoint.URLs {
		if cfg, err := mockserver.ParseURL(u); mockserver.Named(u) && err == nil && cfg.GPUs > 0 {
			page := pageOf(w.Run.Targets[i], mockserver.GPUPath)
			pages = append(pages, telemetry.Address{Name: w.shown(page), URLs: []string{page}})
		}
	}
	collector, usual := telemetry.DCGM, dcgmPages
	if conf.Collector == "amdsmi" {
		collector, usual = telemetry.ROCM, rocmPages
	}
	for _, page := range usual {
		if !w.Run.loader.unread[page].Absent {
			pages = append(pages, telemetry.Address{
				Name: page, URLs: []string{page},
				Asked: collector == telemetry.ROCM, Once: true,
			})
		}
	}
	if err := checkFields(conf.MetricsFile); err != nil {
		return nil, &InputError{err}
	}
	if conf.Collector == "pynvml" {
		return w.startNVML(ctx, NewInquirer(&bench.Endpoint, w.Transport), pages)
	}
	return startScraping(ctx, w, NewInquirer(&bench.Endpoint, w.Transport), collector, "GPU metrics", pages)
}

// startNVML reads this machine's GPUs; instead, where this build cannot.
func (w *Watched) startNVML(ctx context.Context, who *Inquirer, instead []telemetry.Address) (Observer, error) {
	local, err := w.Run.loader.openNVML()
	if err == nil {
		own := telemetry.Address{
			Name: telemetry.NVMLSource, URLs: []string{telemetry.NVMLSource}, Asked: true,
			Once: true, Local: local,
		}
		return startScraping(ctx, w, who, telemetry.NVML, "GPU metrics", []telemetry.Address{own})
	}
	m, failed := startScraping(ctx, w, who, telemetry.DCGM, "GPU metrics", instead)
	if m, ok := m.(scraped); ok {
		m.notes = append(m.notes, "GPU metrics: "+err.Error()+"; pages of that exporter are read meanwhile")
		return m, nil
	}
	return m, failed
}

// openNVML is NVML as the runs of a plan share it.
func (l *Loader) openNVML() (local *telemetry.Local, err error) {
	if l.nvml == nil {
		l.nvml, err = telemetry.OpenNVML()
	}
	return l.nvml, err
}

// Busy is how many requests the servers of a benchmark say they work on or hold back;
// false where no page of metrics tells. Each is asked once.
func Busy(ctx context.Context, b *schema.Benchmark, how transport.Config) (requests float64, known bool) { //nolint:gocritic // as transport.Reach
	if !b.ServerMetrics.Enabled {
		return 0, false
	}
	who := NewInquirer(&b.Endpoint, how)
	for _, base := range how.Targets {
		for _, path := range []string{"/metrics", "/prometheus/metrics"} {
			if page := who.page(ctx, pageOf(base, path)); page != nil {
				n, some := telemetry.Busy(page)
				requests, known = requests+n, known || some
				break
			}
		}
	}
	return requests, known
}

// Workers is how many workers the servers of a benchmark have ready for a model; false
// where no page of metrics counts them. Each is asked once.
func Workers(
	ctx context.Context, b *schema.Benchmark, how transport.Config, model string, //nolint:gocritic // as Busy
) (workers int, known bool) {
	who := NewInquirer(&b.Endpoint, how)
	for _, base := range how.Targets {
		for _, path := range []string{"/metrics", "/prometheus/metrics"} {
			if page := who.page(ctx, pageOf(base, path)); page != nil {
				n, some := telemetry.Workers(page, model)
				workers, known = workers+n, known || some
				break
			}
		}
	}
	return workers, known
}

// maxPage bounds a page of metrics that is read once.
const maxPage = 16 << 20

// page is one page of metrics; nil where there is none.
func (q *Inquirer) page(ctx context.Context, u string) *telemetry.Page {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if u == "" || err != nil {
		return nil
	}
	req.Header = q.header.Clone()
	res, err := q.client.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	found, err := telemetry.Parse(body)
	if err != nil {
		return nil
	}
	return found
}

// checkFields refuses a list of fields that cannot be read as one.
func checkFields(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("gpu_telemetry.metrics_file: %w", err)
	}
	defer f.Close()
	_, doubts, err := telemetry.ReadGPUFields(f)
	if err == nil && len(doubts) > 0 {
		err = errors.New(doubts[0])
	}
	if err != nil {
		return fmt.Errorf("gpu_telemetry.metrics_file: %s: %w", file, err)
	}
	return nil
}

// startScraping reads pages as who asks.
func startScraping(
	ctx context.Context, w *Watched, who *Inquirer, collector, what string, pages []telemetry.Address,
) (Observer, error) {
	if len(pages) == 0 {
		return nil, nil //nolint:nilnil // all are known to have none
	}
	s := &telemetry.Scraper{
		Collector: collector, Client: who.keepsAlive(), Now: w.Clock.Now, Addresses: pages,
		Mask: w.Session.Hide.Own,
	}
	m := scraped{Scraper: s, what: what, loader: w.Run.loader, silent: map[string]bool{}}
	for _, p := range pages {
		m.silent[p.Name] = p.Silent
	}
	s.Start(ctx, w.samples.write)
	return m, nil
}

// shown is an address without its secrets.
func (w *Watched) shown(u string) string { return secret.URL(w.Session.Hide.Text(u)) }

// Border reads the pages between two phases.
func (m scraped) Border() { m.Look() }

// Stop looks once more, and says which sources have no page, once a plan.
func (m scraped) Stop(ctx context.Context, out *Result) error {
	sources := m.Scraper.Stop(ctx)
	m.Client.CloseIdleConnections()
	m.loader.note(sources)
	if out == nil {
		return nil
	}
	out.Notes = append(out.Notes, m.notes...)
	for _, s := range sources {
		switch none := fmt.Sprintf("%s: none from %s: %s", m.what, s.Name, s.Off); {
		case m.silent[s.Name]: // an earlier run said so
		case s.Off != "" && s.Asked:
			out.Notes = append(out.Notes, none)
		case s.Off != "":
			out.Log = append(out.Log, none)
		}
		for _, d := range s.Doubts {
			out.Notes = append(out.Notes, fmt.Sprintf("%s of %s: %s", m.what, s.Name, d))
		}
	}
	out.Sources = append(out.Sources, sources...)
	return nil
}

// pagesOf are the pages of targets, to which header is sent, and of more addresses, to
// which nothing is: a key is for who was given it. A target of which an earlier run of
// the plan learned that it has no page is left out; for what did not answer nobody waits.
func (l *Loader) pagesOf(
	targets, more []string, header http.Header, shown func(string) string,
) (out []telemetry.Address) {
	seen := map[string]bool{}
	add := func(a telemetry.Address) {
		was := l.unread[a.Name]
		if len(a.URLs) == 0 || seen[a.URLs[0]] || was.Absent && !a.Asked {
			return
		}
		seen[a.URLs[0]] = true
		a.Silent = was.Off != ""
		out = append(out, a)
	}
	for _, u := range more {
		add(telemetry.Address{Name: shown(PageURL(u)), URLs: []string{PageURL(u)}, Asked: true})
	}
	for _, base := range targets {
		usual := pageOf(base, "/metrics")
		if usual == "" {
			continue
		}
		add(telemetry.Address{
			Name: shown(usual), URLs: []string{usual, pageOf(base, "/prometheus/metrics")},
			Header: header,
		})
	}
	return out
}

// note remembers which sources gave nothing: not each run of a plan waits for them.
func (l *Loader) note(sources []telemetry.Source) {
	for _, s := range sources {
		delete(l.unread, s.Name)
		if s.Off != "" {
			l.unread[s.Name] = s
		}
	}
}

// pageOf is a page of the server at base; "" if base is not the address of a web server.
func pageOf(base, path string) string {
	page := serverURL(base, path)
	if !strings.HasPrefix(page, "http://") && !strings.HasPrefix(page, "https://") {
		return ""
	}
	return page
}

// PageURL is the address of a page of metrics that a person named: AIPerf lets them leave
// /metrics out.
func PageURL(named string) string {
	u, err := url.Parse(named)
	if err != nil || strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/metrics") {
		return named
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/metrics"
	u.RawPath = ""
	return u.String()
}
