package mockserver

import (
	"encoding/json"
	"net/http"
	"testing"
)

// world is a virtual server, its time and its log.
type world struct {
	t   *testing.T
	s   *Virtual
	now int64
	log buffer
}

func newWorld(t *testing.T, query string) *world {
	t.Helper()
	cfg, err := ParseURL("mock:?" + query)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	cfg.Log = &w.log
	if w.s, err = NewVirtual(cfg, func() int64 { return w.now }); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask sends a request now; all is what has been written of its answer.
func (w *world) ask(path, body string) (all *[]byte) {
	all = new([]byte)
	w.s.Ask(path, http.Header{}, []byte(body), func(b []byte) { *all = append(*all, b...) }, nil)
	return all
}

// run goes on until nothing is left to do.
func (w *world) run() {
	for {
		at, ok := w.s.Next()
		if !ok {
			return
		}
		w.now = max(w.now, at)
		w.s.Work()
	}
}

// stop returns the log by ordinal.
func (w *world) stop() []Entry {
	w.t.Helper()
	if err := w.s.Close(); err != nil {
		w.t.Fatal(err)
	}
	out := make([]Entry, w.s.server.levels.count())
	for d := json.NewDecoder(&w.log.b); d.More(); {
		var e Entry
		if err := d.Decode(&e); err != nil {
			w.t.Fatal(err)
		}
		out[e.N] = e
	}
	return out
}
