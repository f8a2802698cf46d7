package cluster

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/onerun"
)

// Subjects. The one with a number is of one worker. Each worker takes orders at an inbox of its own.
const (
	subjectJoin   = "aiperf.join"   // hello → welcome
	subjectClock  = "aiperf.clock"  // empty → ns of the coordinator's clock
	subjectPhase  = "aiperf.phase"  // atPhase → begins
	subjectBlocks = "aiperf.blocks" // atPhase → mode.Block, or none
	subjectBeat   = "aiperf.beat"   // beat
	subjectDone   = "aiperf.done"   // done → empty
	streamName    = "aiperf-records"
	subjectLeave  = "aiperf.leave"      // leave → empty
	subjectStop   = "aiperf.stop"       // stop, to all
	subjectRecord = "aiperf.records.%d" // batch, kept until it is acknowledged
)

// hello is what a worker says of itself. K is the number that it wants, below 0 for any.
// Orders is where it takes them, and of this worker alone: one that takes the place of
// another that is gone has another one.
type hello struct {
	Orders  string `json:"orders"`
	K       int64  `json:"k"`
	Version string `json:"version"`
	Host    string `json:"host"`
	Node    string `json:"node,omitempty"` // of a cluster, which it runs on
	PID     int    `json:"pid"`
	Was     string `json:"was,omitempty"`  // where it took orders before; nothing of those is under way any more
	Kept    *kept  `json:"kept,omitempty"` // what it keeps of a run whose coordinator has died
}

// here is where a worker hears that the coordinator is there.
func (h *hello) here() string { return h.Orders + ".here" }

// welcome is its number, or why it is not wanted.
type welcome struct {
	K       int64  `json:"k"`
	Of      int64  `json:"of"`
	Beat    int64  `json:"beat_ns"`       // how often it says that it is there
	Dir     string `json:"dir,omitempty"` // where its files may lie: the coordinator removes it
	Refused string `json:"refused,omitempty"`
	Taken   bool   `json:"taken,omitempty"` // refused because another worker has the place, which may become free
}

// order tells one worker what to do: to prepare a run, to carry out the one that is
// prepared, to hand over what it keeps of one, or to quit.
type order struct {
	Run     int          `json:"run"`
	Prepare *onerun.Spec `json:"prepare,omitempty"`
	Key     string       `json:"key,omitempty"` // of the run
	T0      int64        `json:"t0,omitempty"`  // of the run, in ns since 1970 by the coordinator's clock
	Hand    bool         `json:"hand,omitempty"`
	Files   string       `json:"files,omitempty"` // digest of the list of what the run reads; "": they lie here
	Quit    bool         `json:"quit,omitempty"`
	Why     string       `json:"why,omitempty"` // to quit, where that is no ordinary end
}

// answer is that to an order.
type answer struct {
	Digest string `json:"digest,omitempty"` // of what is played
	Failed string `json:"failed,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// stop ends a run: at the next point where nothing is cut off, or at once.
type stop struct {
	Run  int  `json:"run"`
	Hard bool `json:"hard"`
}

// leave is a worker that goes by itself, as on a signal.
type leave struct {
	K      int64  `json:"k"`
	Orders string `json:"orders"`
}

// atPhase is a worker at a phase of a run.
type atPhase struct {
	K     int64 `json:"k"`
	Run   int   `json:"run"`
	Phase int   `json:"phase"`
	Free  int64 `json:"free,omitempty"` // the first number of a request that is free there
	Away  int64 `json:"away,omitempty"` // ns that a word takes from the coordinator to the worker
}

// begins says when a phase begins, in ns of the coordinator's clock, and from which
// number on its requests are numbered.
type begins struct {
	At    int64 `json:"at"`
	First int64 `json:"first"`
}

// block is a mode.Block; Over: there is none.
type block struct {
	mode.Block
	Over bool `json:"over,omitempty"`
}

// beat says that a worker is there, and where it is.
type beat struct {
	K      int64            `json:"k"`
	Orders string           `json:"orders"`
	Run    int              `json:"run"`
	Live   loadgen.Snapshot `json:"-"`
	Gob    []byte           `json:"live,omitempty"` // Live: it has NaN, which JSON has not
}

// done is what a worker did in a run. Batches is how many messages of records it sent.
type done struct {
	K       int64
	Run     int
	Batches int64
	Records int64
	Within  float64 // ms: how far the clock of this worker may be from the coordinator's
	Late    float64 // ms: the latest beginning of a phase after the time agreed upon
	Failed  string
	Hint    string
	Result  onerun.Result
}

// batch is records, in order of completion.
type batch struct {
	K, N    int64 // whose, and the how many-th of the run
	Run     int
	Records []record.Record
	Beside  [][]byte // what is kept beside each of them; nil where nothing is
}

func encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic("cluster: " + err.Error()) // plain data of this package
	}
	return b.Bytes()
}

func decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

func packed(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("cluster: " + err.Error()) // plain data of this package
	}
	return b
}

// ask is a question and its answer.
func ask[A any](conn *nats.Conn, subject string, question any, within time.Duration) (a A, err error) {
	m, err := conn.Request(subject, packed(question), within)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(m.Data, &a)
}

// hear answers the questions of a subject, each in a goroutine of its own. What cannot be
// read is no message of this program's.
func hear[Q, A any](conn *nats.Conn, subject string, reply func(Q) A) (*nats.Subscription, error) {
	return conn.Subscribe(subject, func(m *nats.Msg) {
		var q Q
		if json.Unmarshal(m.Data, &q) != nil {
			return
		}
		go func() { _ = m.Respond(packed(reply(q))) }() // who asked may be gone
	})
}

// lostError is about a worker that is gone.
type lostError struct {
	k, of int64
	why   string
}

func (e *lostError) Error() string {
	return fmt.Sprintf("worker %d of %d was lost: %s", e.k+1, e.of, e.why)
}
