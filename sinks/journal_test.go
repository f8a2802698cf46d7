package sinks_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/record/recordtest"
	"aiperf.dev/aiperf/sinks"
)

// read collects copies of a journal's records.
func read(t testing.TB, path string) ([]record.Record, sinks.JournalInfo, error) {
	t.Helper()
	var out []record.Record
	info, err := sinks.ReadJournal(path, func(r *record.Record) error {
		c := *r
		c.Chunks = append([]record.Chunk(nil), r.Chunks...)
		out = append(out, c)
		return nil
	})
	return out, info, err
}

func TestJournalKeepsEveryField(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stream.arrow")
	p := demoPlan("alpha", 2, 2)
	writeJournal(t, path, p, 1, 1, t0, all(recordtest.Fixed()))
	got, info, err := read(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordtest.Fixed(), got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("journal (-written +read):\n%s", diff)
	}
	if info.Records != int64(len(recordtest.Fixed())) || info.Torn != 0 || !info.Ended ||
		info.Meta.Cell != p.Cells[1].ID || info.Meta.Trial != 1 || !info.Meta.T0.Equal(t0) {
		t.Errorf("info %+v", info)
	}
}

// What was measured is read with everything but the names.
func TestReadMeasuredLeavesOnlyNamesOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stream.arrow")
	writeJournal(t, path, demoPlan("alpha", 1, 1), 0, 0, t0, all(recordtest.Fixed()))
	want := recordtest.Fixed()
	for i := range want {
		r := &want[i]
		r.SessionID, r.ConversationID, r.PromptSHA, r.MediaSHA, r.XRequestID, r.XCorrelationID = "", "", "", "", "", ""
	}
	var got []record.Record
	info, err := sinks.ReadMeasured(path, func(r *record.Record) error {
		c := *r
		c.Chunks = append([]record.Chunk(nil), r.Chunks...)
		got = append(got, c)
		return nil
	})
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("error %v, records (-want +got):\n%s", err, diff)
	}
	if info.Records != int64(len(want)) || !info.Ended {
		t.Errorf("info %+v", info)
	}
}

// A journal cut anywhere gives back a prefix of its records: whole batches,
// never an error, never fewer from a longer prefix, and the torn bytes are told.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "stream.arrow")
	j, err := sinks.NewJournal(path, sinks.RunMeta{RunID: "r", T0: t0})
	if err != nil {
		t.Fatal(err)
	}
	want := recordtest.Fixed()
	for i := range want {
		if err := j.Write(&want[i]); err != nil {
			t.Fatal(err)
		}
		if i == 2 || i == 5 { // three batches
			if err := j.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.arrow")
	seen := map[int64]bool{}
	sound := int64(0)
	for n, last := 0, int64(0); n <= len(whole); n++ {
		before := sound
		if sound = sinks.SoundLength(whole[:n]); sound < before || sound > int64(n) {
			t.Fatalf("cut at %d: sound length %d, a shorter one gave %d", n, sound, before)
		}
		// What is read depends on the sound part alone: read around its borders
		// and at every 97th cut.
		if n != len(whole) && n%97 != 0 && int64(n)-sound > 12 {
			continue
		}
		if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		info, err := sinks.ReadJournal(cut, func(r *record.Record) error {
			if r.RequestID != next {
				t.Fatalf("cut at %d: record %d, want %d", n, r.RequestID, next)
			}
			next++
			return nil
		})
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
		if info.Records < last || info.Records != next {
			t.Fatalf("cut at %d: %d records, a shorter one gave %d", n, info.Records, last)
		}
		if info.Ended != (n == len(whole)) {
			t.Fatalf("cut at %d of %d: ended %v", n, len(whole), info.Ended)
		}
		last = info.Records
		seen[last] = true
	}
	for _, n := range []int64{0, 3, 6, int64(len(want))} {
		if !seen[n] {
			t.Errorf("no cut gave %d records; batches end there", n)
		}
	}
}

// Lengths in damaged bytes are not believed: whatever a flipped byte does to
// the framing, reading ends, with or without an error, in bounded memory.
func FuzzTornFrames(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "stream.arrow")
	p := demoPlan("alpha", 1, 1)
	writeJournal(f, path, p, 0, 0, t0, all(recordtest.Fixed()))
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := sinks.SoundLength(b)
		if n < 0 || n > int64(len(b)) {
			t.Errorf("SoundLength of %d bytes = %d", len(b), n)
		}
		if again := sinks.SoundLength(b[:n]); again != n {
			t.Errorf("SoundLength of the sound part = %d, want %d", again, n)
		}
	})
}

// Packed chunks come back, and damaged ones are refused.
func FuzzPackedChunks(f *testing.F) {
	f.Add([]byte{}, int64(5))
	f.Add([]byte{2, 180, 1, 32}, int64(record.None))
	f.Add(sinks.PackChunks(1_250_000, recordtest.Fixed()[0].Chunks), int64(1_250_000))
	f.Fuzz(func(t *testing.T, b []byte, sent int64) {
		chunks, err := sinks.UnpackChunks(sent, b)
		if err != nil {
			return
		}
		again, err := sinks.UnpackChunks(sent, sinks.PackChunks(sent, chunks))
		if diff := cmp.Diff(chunks, again); err != nil || diff != "" {
			t.Errorf("unpack(pack(x)): %v\n%s", err, diff)
		}
	})
}

// A record waits no longer than a second of the records' own time.
func TestJournalFlushesByTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stream.arrow")
	j, err := sinks.NewJournal(path, sinks.RunMeta{T0: t0})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i, want := range []int64{0, 0, 3, 3} { // ends at 0, 0.6, 1.2, 1.8 s
		r := record.New()
		r.RequestID, r.Status, r.End = int64(i), record.OK, int64(i)*600_000_000
		if err := j.Write(&r); err != nil {
			t.Fatal(err)
		}
		if _, info, err := read(t, path); err != nil || info.Records != want {
			t.Errorf("after record %d the file holds %d, want %d (%v)", i, info.Records, want, err)
		}
	}
}

func TestJournalErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "stream.arrow")
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sinks.NewJournal(path, sinks.RunMeta{}); !errors.Is(err, os.ErrExist) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("NewJournal over a file: %v, want it refused by name", err)
	}
	if _, _, err := read(t, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadJournal of nothing: %v", err)
	}
	if _, info, err := read(t, path); err != nil || info.Records != 0 || info.Torn != 8 {
		t.Errorf("ReadJournal of other bytes: %+v, %v; want 8 torn bytes", info, err)
	}
}

// A full disk is told once with the path, and everything after it is refused.
func TestJournalOnFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	j, err := sinks.NewJournal(filepath.Join(t.TempDir(), "stream.arrow"), sinks.RunMeta{})
	if err != nil {
		t.Fatal(err)
	}
	j.Redirect(full)
	r := recordtest.Fixed()[0]
	if err := j.Write(&r); err != nil {
		t.Fatalf("Write into the buffer: %v", err)
	}
	err = j.Flush()
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), "stream.arrow: no space left on device") {
		t.Errorf("Flush = %v, want no space left, by name", err)
	}
	if err := j.Write(&r); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write after the failure = %v, want the failure again", err)
	}
	if err := j.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close = %v, want the failure again", err)
	}
}

// A foreign or newer stream is refused by name rather than misread.
func TestForeignStream(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stream.arrow")
	writeJournal(t, path, demoPlan("a", 1, 1), 0, 0, t0, all(nil))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(strings.Replace(string(b), "journal/1", "journal/9", 1))
	if binary.Size(changed) != binary.Size(b) || string(changed) == string(b) {
		t.Fatal("the schema name is not in the file")
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t, path); err == nil || !strings.Contains(err.Error(), `schema "journal/9"`) {
		t.Errorf("ReadJournal = %v, want the schema named", err)
	}
}
