package onerun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// Observer watches one run. It started before the first request; Stop is called
// once, after the last record, and puts what was learned into out. out is nil when
// the run did not begin: then nothing of it stays behind.
//
// An observer is never called concurrently, Render excepted. It sees what it has a
// method for: recorder, exchanger, snapshotter, borderer.
type Observer interface {
	Stop(ctx context.Context, out *Result) error
}

// recorder sees every record, also of warmup and of what was never sent, in order of
// completion. The record is not its own.
type recorder interface{ Record(*record.Record) }

// exchanger is shown every exchange before its buffers go back: Render, by several
// goroutines at once, makes of it what Keep is given with the record. Where several processes
// send, each of them renders, and who holds the parts together keeps: gob carries what lies in
// between, and Blank is an empty one.
type exchanger interface {
	Render(*record.Record, *transport.Exchange, loadgen.Said) any
	Keep(*record.Record, any)
	Blank() any
}

// borderer is called between two phases, when nothing is sent: the next one waits for it.
type borderer interface{ Border() }

// snapshotter is told about twice a second where the run is.
type snapshotter interface{ Snapshot(loadgen.Snapshot) }

// Watched is what an observer may look at.
type Watched struct {
	Run       *Opened
	Session   *Session
	Clock     record.Clock
	Transport transport.Config  // how targets are spoken to
	Client    *transport.Client // nil in simulated time: there is no network to ask, and no machine to watch

	Over bool // the run was sent before, and is only taken: there is nothing to be seen of it any more

	samples *samples // where collectors write; nil in simulated time
}

// meta is what a file of the run says about it.
func (w *Watched) meta() sinks.RunMeta {
	m := w.Run.Meta
	m.Share, m.T0 = w.Run.Share, w.Clock.Wall(0).UTC().Round(time.Nanosecond)
	return m
}

// row is one kind of observer.
type row struct {
	name string
	// start begins to observe; nil when there is nothing to observe in this run.
	start func(ctx context.Context, w *Watched) (Observer, error)
	// where it observes a run that several processes send.
	where place
	// beside is an observer that may miss records when it is slow: it has a goroutine
	// and a bounded queue of its own, and what did not fit is counted and
	// told in Result.Notes. The others are part of the run: the engine hands them records
	// behind a queue without bounds, so that they delay no request either.
	beside bool
}

// place is where an observer is.
type place uint8

const (
	together   place = 1 << iota // with who holds the parts of a run together
	sending                      // with each that sends a part
	afterwards                   // with who takes the parts of a run that was sent before
)

// catalogue is every observer, in the order in which they start; they stop in the
// opposite one. The host is last: it measures the run, not the others.
func catalogue() []row {
	return []row{
		{name: "samples", start: startSamples, where: together | sending | afterwards},
		{name: "journal", start: startJournal, where: together | afterwards},
		{name: "server identity", start: startIdentity, where: together},
		{name: "details", start: startDetails, where: together | sending | afterwards},
		{name: "answers", start: startAnswers, where: together | sending | afterwards},
		{name: "fidelity", start: startFidelity, where: together | afterwards},
		{name: "live", start: startLive, where: together | sending},
		{name: "exporters", start: startExporters, where: together, beside: true},
		{name: "server metrics", start: startServerMetrics, where: together},
		{name: "GPU metrics", start: startGPUs, where: together},
		{name: "network", start: startNetwork, where: together},
		{name: "profiler", start: startProfiler, where: together},
		{name: "host", start: startHost, where: sending},
	}
}

// Apart is what a run asks for that only one process can give: programs, which are started once
// and are where it is. "" where it asks for nothing of it.
func Apart(b *schema.Benchmark) string {
	if b.Endpoint.Plugin != "" || b.Datasets[0].Plugin != "" || b.Accuracy != nil && b.Accuracy.Plugin != "" {
		return "a plug-in"
	}
	return ""
}

// observers are those that have started.
type observers struct {
	all        []Observer
	recorders  []recorder
	beside     []*queued
	exchangers []exchanger
	snapshots  []func(loadgen.Snapshot)
	borders    []borderer
}

// observe starts all observers. When one fails, those already started are stopped.
func observe(ctx context.Context, w *Watched, where place) (*observers, error) {
	return start(ctx, w, slices.DeleteFunc(catalogue(), func(r row) bool { return r.where&where == 0 }))
}

func start(ctx context.Context, w *Watched, rows []row) (*observers, error) {
	s := &observers{}
	for _, r := range rows {
		o, err := r.start(ctx, w)
		if err != nil {
			return nil, errors.Join(err, s.stop(ctx, nil))
		}
		if o != nil {
			s.add(r, o)
		}
	}
	return s, nil
}

func (s *observers) add(r row, o Observer) {
	var lock *sync.Mutex
	rec, records := o.(recorder)
	live, snapshots := o.(snapshotter)
	if records && snapshots { // which come from different goroutines
		lock = &sync.Mutex{}
	}
	switch {
	case records && r.beside:
		q := newQueued(r.name, o, rec, lock)
		s.beside, o = append(s.beside, q), q
	case records:
		s.recorders = append(s.recorders, guarded{rec, lock})
	}
	if snapshots {
		s.snapshots = append(s.snapshots, func(x loadgen.Snapshot) {
			if lock != nil {
				lock.Lock()
				defer lock.Unlock()
			}
			live.Snapshot(x)
		})
	}
	if x, ok := o.(exchanger); ok {
		s.exchangers = append(s.exchangers, x)
	}
	if b, ok := o.(borderer); ok {
		s.borders = append(s.borders, b)
	}
	s.all = append(s.all, o)
}

// guarded is a recorder that another goroutine tells other things.
type guarded struct {
	to   recorder
	lock *sync.Mutex // nil: nobody else calls it
}

// Record hands r on.
func (g guarded) Record(r *record.Record) {
	if g.lock != nil {
		g.lock.Lock()
		defer g.lock.Unlock()
	}
	g.to.Record(r)
}

// record shows r to all who look at records.
func (s *observers) record(r *record.Record) {
	for _, q := range s.beside {
		q.offer(r)
	}
	for _, o := range s.recorders {
		o.Record(r)
	}
}

// attach asks the engine for what is wanted beside records. elsewhere, if set, takes what others
// keep.
func (s *observers) attach(job *loadgen.Job, elsewhere func([]byte)) {
	if len(s.exchangers) > 0 {
		job.Detail, job.Keep = s.render, s.keep
	}
	if len(s.exchangers) > 0 && elsewhere != nil {
		job.Keep = func(_ *record.Record, rendered any) { elsewhere(s.pack(rendered)) }
	}
	if len(s.borders) > 0 {
		job.Between = func() {
			for _, b := range s.borders {
				b.Border()
			}
		}
	}
	if len(s.snapshots) > 0 {
		job.Live = func(x loadgen.Snapshot) {
			for _, tell := range s.snapshots {
				tell(x)
			}
		}
	}
}

// render is what every exchanger makes of an exchange.
func (s *observers) render(rec *record.Record, x *transport.Exchange, said loadgen.Said) any {
	each := make([]any, len(s.exchangers))
	for i, o := range s.exchangers {
		each[i] = o.Render(rec, x, said)
	}
	return each
}

// keep hands them on with their record.
func (s *observers) keep(rec *record.Record, rendered any) {
	each, _ := rendered.([]any) // none of an answer that was given up
	for i, one := range each {
		s.exchangers[i].Keep(rec, one)
	}
}

// stop stops them, the last one first.
func (s *observers) stop(ctx context.Context, out *Result) error {
	var errs []error
	for i := len(s.all) - 1; i >= 0; i-- {
		errs = append(errs, s.all[i].Stop(ctx, out))
	}
	return errors.Join(errs...)
}

// queueLength is how many records wait for an observer beside the run.
const queueLength = 4096

// queued is an observer with a goroutine and a bounded queue of its own.
type queued struct {
	Observer
	name    string
	records chan *record.Record
	done    chan struct{}
	dropped int64
}

func newQueued(name string, o Observer, rec recorder, lock *sync.Mutex) *queued {
	q := &queued{Observer: o, name: name, records: make(chan *record.Record, queueLength), done: make(chan struct{})}
	go func() {
		defer close(q.done)
		for r := range q.records {
			guarded{rec, lock}.Record(r)
		}
	}()
	return q
}

// offer gives r to the observer, or counts it.
func (q *queued) offer(r *record.Record) {
	select {
	case q.records <- r:
	default:
		q.dropped++
	}
}

// Stop waits until what is queued was seen.
func (q *queued) Stop(ctx context.Context, out *Result) error {
	close(q.records)
	<-q.done
	if q.dropped > 0 && out != nil {
		out.Notes = append(out.Notes, q.name+": too slow, so it missed "+words.Count(q.dropped, "record"))
	}
	return q.Observer.Stop(ctx, out)
}

// LostError says that results could not be written: nothing may follow.
type LostError struct{ Err error }

func (e *LostError) Error() string { return fmt.Sprint(e.Err) }
func (e *LostError) Unwrap() error { return e.Err }
