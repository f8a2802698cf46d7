package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Interval is how often a page of metrics is read, as AIPerf does.
const Interval = 333 * time.Millisecond

const (
	lookTimeout  = time.Second      // one look
	longestPause = 10 * time.Second // between looks at a source that does not answer
	// borderWait is how long the load waits, between two phases, for pages to be read.
	borderWait = 250 * time.Millisecond
	// budget bounds what a large page costs: the next look waits so many times as long
	// as the work of the last one, which is then at most 1 % of a core.
	budget = 100
)

// What a Scraper says about its own looks, in Prometheus' words. Up is 1 when the page was
// read and 0 when it was not: then nothing is known of the source until it is 1 again.
const (
	Up       = "up"
	Duration = "scrape_duration_seconds"
)

// Address is a source of a Scraper.
type Address struct {
	Name   string      // as it is shown: without secrets
	URLs   []string    // where the page may be, tried in order
	Header http.Header // what is sent along; nil for nothing
	Asked  bool        // it was named, and is not a guess
	Silent bool        // it has not answered before: nobody waits for it
	Once   bool        // where the first look finds nothing, there is no second
	Local  *Local      // the page comes from a library of this machine; nil: from URLs
}

// Scraper reads pages of Prometheus text. Of a series it tells a sample when its value
// changes, and one of NaN when the page has it no more.
type Scraper struct {
	Collector string
	Client    *http.Client
	Now       func() int64 // ns since the run's T0
	Addresses []Address
	Mask      func(string) string // takes secrets out of foreign texts; nil for none

	pages []*page
	stop  context.CancelFunc
	wait  sync.WaitGroup
}

// Start looks at all sources at once, and goes on with those that have a page.
func (s *Scraper) Start(ctx context.Context, sink Sink) {
	if s.Mask == nil {
		s.Mask = func(text string) string { return text }
	}
	for _, a := range s.Addresses {
		s.pages = append(s.pages, &page{
			of: s, at: a, sink: sink, series: map[seriesKey]*series{},
			families: map[string]*Family{}, now: make(chan chan<- struct{}),
		})
	}
	ctx, s.stop = context.WithCancel(ctx)
	var first sync.WaitGroup
	for _, p := range s.pages {
		if !p.at.Silent {
			first.Add(1)
		}
		s.wait.Go(func() {
			p.find(ctx)
			if !p.at.Silent {
				first.Done()
			}
			if p.off == "" {
				p.watch(ctx)
			}
		})
	}
	first.Wait()
}

// Look reads the pages that answer, and waits for them, if not for long: it is for the
// border between two phases, when nothing is sent. Stop comes after it.
func (s *Scraper) Look() {
	over := time.NewTimer(borderWait)
	defer over.Stop()
	ended := make(chan struct{})
	var all sync.WaitGroup
	for _, p := range s.pages {
		if p.up.Load() {
			all.Go(func() { p.border(ended) })
		}
	}
	read := make(chan struct{})
	go func() { all.Wait(); close(read) }()
	select {
	case <-read:
	case <-over.C:
	}
	close(ended)
	<-read
}

// border has the one who watches the page look now, and waits for that until ended.
func (p *page) border(ended <-chan struct{}) {
	looked := make(chan struct{})
	select {
	case p.now <- looked:
	case <-ended:
		return
	}
	select {
	case <-looked:
	case <-ended:
	}
}

// Stop looks once more at what has answered before.
func (s *Scraper) Stop(ctx context.Context) (out []Source) {
	s.stop()
	s.wait.Wait()
	var last sync.WaitGroup
	for _, p := range s.pages {
		if p.read {
			last.Go(func() { p.look(ctx) })
		}
	}
	last.Wait()
	for _, p := range s.pages {
		out = append(out, p.source())
	}
	return out
}

// page is one source while it is read. It belongs to one goroutine at a time.
type page struct {
	of   *Scraper
	at   Address
	sink Sink

	url      string // where the page is
	off      string // why there is none
	body     []byte // the last one
	spare    []byte // room for the next one
	text     pages  // reads them
	series   map[seriesKey]*series
	families map[string]*Family
	round    int64
	rows     []Sample
	work     time.Duration        // of the last look, without waiting for the answer
	failures int                  // in a row
	failed   string               // the last one
	read     bool                 // some look succeeded
	up       atomic.Bool          // the last look did
	now      chan chan<- struct{} // asks for a look at once; what is sent is closed after it
	doubts   []string
}

type seriesKey struct{ metric, labels, kind string }

// series is what was told of one.
type series struct {
	labels string // as they are told
	unit   string
	value  float64
	round  int64 // the last one that had it
}

// find takes the first of the addresses that has a page. A source that does not answer
// yet is looked at again later.
func (p *page) find(ctx context.Context) {
	for _, u := range p.at.URLs {
		p.url = u
		err := p.look(ctx)
		var no *NotPrometheusError
		switch {
		case !errors.As(err, &no) && err != nil && p.at.Once:
			p.off = p.failed
			return
		case !errors.As(err, &no):
			p.off = ""
			return
		}
		if p.off == "" { // of the usual place
			p.off = no.Reason
		}
	}
}

// watch looks until ctx ends.
func (p *page) watch(ctx context.Context) {
	timer := time.NewTimer(p.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			_ = p.look(ctx) // what went wrong is in the samples
		case looked := <-p.now:
			_ = p.look(ctx)
			close(looked)
		}
		timer.Reset(p.pause())
	}
}

// pause is how long nothing is done after a look.
func (p *page) pause() time.Duration {
	pause := max(Interval, budget*p.work)
	if p.failures > 0 {
		pause = min(longestPause, pause<<min(p.failures, 5))
	}
	return min(pause, longestPause)
}

// look reads the page and tells what has changed. A look that ctx ended is none.
func (p *page) look(ctx context.Context) error {
	sent := p.of.Now()
	found, at, err := p.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	began := time.Now()
	p.rows = p.rows[:0]
	if found != nil {
		p.accept(found, at)
	}
	up := 1.0
	p.up.Store(err == nil)
	if err != nil {
		up = 0
		p.failures++
		p.failed = p.of.Mask(short(err.Error()))
		if no := (*NotPrometheusError)(nil); (errors.As(err, &no) || p.at.Once) && !p.read {
			return err // it is no source, so that nothing is told of it
		}
	} else {
		p.failures, p.read = 0, true
	}
	p.tell(at, Up, "", up)
	p.tell(at, Duration, "seconds", float64(at-sent)/1e9)
	p.sink(p.rows)
	p.work += time.Since(began)
	return err
}

// ask is the page now, nil where it says what it said before, and when it came.
func (p *page) ask(ctx context.Context) (found *Page, at int64, err error) {
	p.work = 0
	if p.at.Local != nil {
		found, p.work, err = p.at.Local.ask(ctx)
		return found, p.of.Now(), err
	}
	body, at, err := p.fetch(ctx)
	if err != nil || p.body != nil && bytes.Equal(body, p.body) {
		return nil, at, err
	}
	began := time.Now()
	if found, err = p.text.read(body); err == nil {
		p.body, p.spare = body, p.body
	} else {
		p.spare = nil // it may be large, and is no page
	}
	p.work = time.Since(began)
	return found, at, err
}

// tell adds a sample of the looks themselves.
func (p *page) tell(at int64, metric, unit string, v float64) {
	p.rows = append(p.rows, Sample{
		At: at, Source: p.at.Name, Collector: p.of.Collector, Metric: metric, Unit: unit,
		Kind: Gauge, Value: v,
	})
}

// fetch is the body of the page, and when its first byte had come. The body is in spare.
func (p *page) fetch(ctx context.Context) (body []byte, at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var first int64
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = p.of.Now() }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, p.url, nil)
	if err != nil {
		return nil, p.of.Now(), &NotPrometheusError{"the address cannot be used"}
	}
	for name, values := range p.at.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,*/*;q=0.1")
	res, err := p.of.Client.Do(req)
	if err != nil {
		return nil, p.of.Now(), plain(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection may be used again
		return nil, p.of.Now(), status(res.StatusCode)
	}
	into := bytes.NewBuffer(p.spare[:0])
	_, err = into.ReadFrom(io.LimitReader(res.Body, maxPage+1))
	body, p.spare = into.Bytes(), into.Bytes()
	if first == 0 { // of a client without a network
		first = p.of.Now()
	}
	if err != nil {
		return nil, p.of.Now(), plain(err)
	}
	return body, first, nil
}

// status is an answer other than 200: that there is no page, or that something is wrong
// with it now.
func status(code int) error {
	err := fmt.Errorf("the server answered %d %s", code, http.StatusText(code))
	if code >= 500 && code != http.StatusNotImplemented {
		return err
	}
	return &NotPrometheusError{err.Error()}
}

// plain is err without the address, which may hold a token.
func plain(err error) error {
	for _, inner := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, inner) {
			return fmt.Errorf("no answer within %s", lookTimeout)
		}
	}
	var net interface{ Timeout() bool }
	if errors.As(err, &net) && net.Timeout() {
		return fmt.Errorf("no answer within %s", lookTimeout)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// accept adds the samples of a page that say something new.
func (p *page) accept(found *Page, at int64) {
	p.round++
	for _, d := range found.Doubts {
		p.doubt(d)
	}
	for i := range found.Families {
		f := &found.Families[i]
		if p.families[f.Name] == nil && len(p.families) < maxSeries {
			p.families[f.Name] = &Family{Name: f.Name, Help: p.of.Mask(short(f.Help)), Unit: f.Unit, Type: f.Type}
		}
		for _, v := range f.Values {
			p.one(f, v, at)
		}
	}
	for key, s := range p.series {
		if s.round != p.round && !math.IsNaN(s.value) {
			s.value = math.NaN()
			p.row(key, s, at)
		}
	}
}

// one is a value of the page.
func (p *page) one(f *Family, v Value, at int64) {
	key := seriesKey{f.Name, v.Labels, v.Kind}
	s := p.series[key]
	if s == nil {
		if len(p.series) >= maxSeries {
			p.doubt(fmt.Sprintf("only the first %d series are taken", maxSeries))
			return
		}
		s = &series{labels: p.of.Mask(v.Labels), unit: f.Unit, value: math.NaN()}
		p.series[key] = s
	}
	s.round = p.round
	if s.value == v.V {
		return
	}
	s.value = v.V
	p.row(key, s, at)
}

func (p *page) row(key seriesKey, s *series, at int64) {
	p.rows = append(p.rows, Sample{
		At: at, Source: p.at.Name, Collector: p.of.Collector, Metric: key.metric, Labels: s.labels,
		Unit: s.unit, Kind: key.kind, Value: s.value,
	})
}

// doubt notes a line once.
func (p *page) doubt(line string) {
	if !slices.Contains(p.doubts, line) {
		p.doubts = append(p.doubts, line)
	}
}

// source is what is known now.
func (p *page) source() Source {
	s := Source{
		Name: p.at.Name, Collector: p.of.Collector, Asked: p.at.Asked, Off: p.off, Absent: p.off != "",
		Doubts: p.doubts,
	}
	switch {
	case s.Off != "":
	case !p.read:
		s.Off = p.failed
	case p.failures > 0:
		s.Doubts = append(s.Doubts, "it did not answer at the end: "+p.failed)
	}
	for _, f := range p.families {
		s.Families = append(s.Families, *f)
	}
	slices.SortFunc(s.Families, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	return s
}
