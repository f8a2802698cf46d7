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
	silent map[string]bool // sources that did not answer in earlier runs
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
	m := serverMetrics{s, w.Run.loader, map[string]bool{}}
	for _, p := range pages {
		m.silent[p.Name] = p.Silent
	}
	s.Start(ctx, w.samples.write)
	return m, nil
}

// Border reads the pages between two phases.
func (m serverMetrics) Border() { m.Look() }

// Stop looks once more, and says which servers have no page, once a plan.
func (m serverMetrics) Stop(ctx context.Context, out *Result) error {
	sources := m.Scraper.Stop(ctx)
	m.Client.CloseIdleConnections()
	m.loader.note(sources)
	if out == nil {
		return nil
	}
	for _, s := range sources {
		switch {
		case m.silent[s.Name]: // an earlier run said so
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
// the plan learned that it has no page is left out; for what did not answer nobody waits.
func (l *Loader) pagesOf(targets, more []string, header http.Header, shown func(string) string) (out []telemetry.Address) {
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
