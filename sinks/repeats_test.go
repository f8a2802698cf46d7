package sinks_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
)

// refused is request i of a schedule whose server is gone, as the engine records it:
// nothing was sent, and two targets and models take turns.
func refused(rng *rand.Rand, i int64) record.Record {
	r := record.New()
	at := i*10_000 + rng.Int64N(10_000)
	r.RequestID, r.SessionNum, r.Phase, r.ConversationID = i, i, "profiling", fmt.Sprintf("session_%06d", i%50)
	r.Model, r.URL = fmt.Sprintf("m%d", i%2), fmt.Sprintf("http://10.0.0.%d:8000/v1/chat/completions", i%2)
	r.Intended, r.Admitted, r.End, r.ISL, r.OSLRequested = at, at, at+rng.Int64N(100_000), 500+rng.Int64N(100), 128
	r.Status, r.ErrorKind, r.ErrorMessage = record.Connection, "refused", "connect: connection refused"
	r.Open, r.Measured, r.InWindow = true, true, true
	return r
}

// Requests that failed alike come back one by one, among others, across flushes,
// and where one of them is not quite alike.
func TestFailuresAlikeComeBack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	g := newGenerator(4, 3)
	var want []record.Record
	for i := range int64(6000) {
		r := refused(rng, i)
		switch {
		case i%1000 == 7:
			g.fill(&r, i)
			r.Chunks = append([]record.Chunk(nil), r.Chunks...)
		case i%500 == 3:
			r.ErrorKind = "unreachable"
		case i%700 == 5:
			r.SessionID = "a-session"
		case i%900 == 1:
			r.ISL = record.None
		case i%1100 == 2:
			r.Sent = r.Admitted // and the connection broke
		}
		want = append(want, r)
	}
	path := filepath.Join(t.TempDir(), "stream.arrow")
	writeJournal(t, path, demoPlan("alpha", 1, 1), 0, 0, t0, all(want))
	got, info, err := read(t, path)
	if err != nil || info.Records != int64(len(want)) {
		t.Fatalf("%v: %d records, want %d", err, info.Records, len(want))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for i := range want {
		r := &want[i]
		r.SessionID, r.ConversationID, r.PromptSHA, r.MediaSHA, r.XRequestID, r.XCorrelationID = "", "", "", "", "", ""
	}
	var measured []record.Record
	if _, err := sinks.ReadMeasured(path, func(r *record.Record) error {
		c := *r
		c.Chunks = append([]record.Chunk(nil), r.Chunks...)
		measured = append(measured, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, measured, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("without names (-written +read):\n%s", diff)
	}
}

// What a server that is gone leaves behind stays small, however many requests were
// due: a few bytes each while the run goes on, and not many more in the table, which
// has a row for each.
func TestServerThatIsGoneLeavesLittle(t *testing.T) {
	t.Parallel()
	const n = 100_000 // a million take ten times as much
	rng := rand.New(rand.NewPCG(5, 5))
	dir := t.TempDir()
	path := filepath.Join(dir, "stream.arrow")
	p := demoPlan("alpha", 1, 1)
	writeJournal(t, path, p, 0, 0, t0, func(yield func(*record.Record) bool) {
		for i := range int64(n) {
			r := refused(rng, i)
			if !yield(&r) {
				return
			}
		}
	})
	size := func(path string) int64 {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	if each := size(path) / n; each > 25 {
		t.Errorf("%d bytes a request in the journal", each)
	}
	if _, err := sinks.WriteTables(dir, sinks.TablesInput{
		Plan: p, T0: t0,
		Journals: []sinks.RunJournal{{Path: path, SteadyStart: record.None, SteadyEnd: record.None}},
	}); err != nil {
		t.Fatal(err)
	}
	if each := size(filepath.Join(dir, "requests.parquet")) / n; each > 15 {
		t.Errorf("%d bytes a request in requests.parquet", each)
	}
}
