package onerun

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
)

// serverMetrics reads the servers' pages of metrics while the run goes on.
type serverMetrics struct {
	*telemetry.Scraper
	loader *Loader
}

func startServerMetrics(ctx context.Context, w *Watched) (Observer, error) {
	conf := &w.Run.Benchmark.ServerMetrics
	if w.Client == nil || !conf.Enabled {
		return nil, nil //nolint:nilnil // nobody to ask, or not wanted
	}
	who := NewInquirer(&w.Run.Benchmark.Endpoint, w.Transport)
	pages := w.Run.loader.pagesOf(w.Run.Targets, conf.URLs, who.header, func(u string) string { return secret.URL(w.Session.Hide.Text(u)) })
	if len(pages) == 0 {
		return nil, nil //nolint:nilnil // all are known to have none
	}
	s := &telemetry.Scraper{Collector: "server", Client: who.keepsAlive(), Now: w.Clock.Now, Addresses: pages, Mask: w.Session.Hide.Own}
	s.Start(ctx, w.samples.write)
	return serverMetrics{s, w.Run.loader}, nil
}

// Stop looks once more, and says which servers have no page.
func (m serverMetrics) Stop(ctx context.Context, out *Result) error {
	sources := m.Scraper.Stop(ctx)
	m.Client.CloseIdleConnections()
	m.loader.note(sources)
	if out == nil {
		return nil
	}
	for _, s := range sources {
		switch {
		case s.Off != "" && s.Asked:
			out.Notes = append(out.Notes, fmt.Sprintf("server metrics: none from %s: %s", s.Name, s.Off))
		case s.Off != "":
			out.Log = append(out.Log, fmt.Sprintf("server metrics: none from %s: %s", s.Name, s.Off))
		}
		for _, d := range s.Doubts {
			out.Notes = append(out.Notes, fmt.Sprintf("server metrics of %s: %s", s.Name, d))
		}
	}
	out.Sources = append(out.Sources, sources...)
	return nil
}

// pagesOf are the pages of targets, to which header is sent, and of more addresses, to
// which nothing is: a key is for who was given it. A target of which an earlier run of
// the plan learned that it has no page is left out.
func (l *Loader) pagesOf(targets, more []string, header http.Header, shown func(string) string) (out []telemetry.Address) {
	seen := map[string]bool{}
	add := func(a telemetry.Address) {
		if len(a.URLs) > 0 && !seen[a.URLs[0]] && !l.pageless[a.Name] {
			seen[a.URLs[0]] = true
			out = append(out, a)
		}
	}
	for _, u := range more {
		add(telemetry.Address{Name: shown(pageURL(u)), URLs: []string{pageURL(u)}, Asked: true})
	}
	for _, base := range targets {
		usual := pageOf(base, "/metrics")
		if usual == "" {
			continue
		}
		add(telemetry.Address{Name: shown(usual), URLs: []string{usual, pageOf(base, "/prometheus/metrics")}, Header: header})
	}
	return out
}

// note remembers which targets have no page: not each run of a plan asks again.
func (l *Loader) note(sources []telemetry.Source) {
	for _, s := range sources {
		if s.Absent && !s.Asked {
			l.pageless[s.Name] = true
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

// pageURL is the address of a page of metrics that a person named: AIPerf lets them leave
// /metrics out.
func pageURL(named string) string {
	u, err := url.Parse(named)
	if err != nil || strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/metrics") {
		return named
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/metrics"
	u.RawPath = ""
	return u.String()
}
