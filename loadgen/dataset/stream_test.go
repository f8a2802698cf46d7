package dataset_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// streamedFrom is the size above which files are read while they are played.
const streamedFrom = 64 << 20

// longLines writes records of 64 KiB until there are so many bytes; line gives
// a record all but its long text. It returns how many there are.
func longLines(t *testing.T, w io.Writer, size int, line func(i int) (before, after string)) (n int) {
	t.Helper()
	long := strings.Repeat("word ", 64<<10/5)
	for written := 0; written < size; n++ {
		before, after := line(n)
		k, err := io.WriteString(w, before+long+after+"\n")
		if err != nil {
			t.Fatal(err)
		}
		written += k
	}
	return n
}

func single(i int) (before, after string) {
	return fmt.Sprintf(`{"text": "%d `, i), fmt.Sprintf(`", "x%d": 1}`, i%3)
}

func large(t *testing.T, name string, size int, line func(i int) (before, after string)) (path string, n int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	n = longLines(t, w, size, line)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return path, n
}

// A file that is larger than what is held is played as a small one is, and
// takes no room: in its order, again from its beginning, and in any other
// order. This test is not parallel: it looks at the memory of the process.
func TestLargeFilesArePlayedFromDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	path, n := large(t, "large.jsonl", streamedFrom+1, single)
	some, k := large(t, "small.jsonl", 3<<20, single)
	cfg := schema.Dataset{
		Type: "file", Prompts: schema.Prompts{OSL: &schema.Shape{Mean: p(50), StdDev: p(20)}},
		SystemPrompt: "be brief",
	}
	cfg.Path = some
	small := open(t, cfg, nil, 3, "profiling")
	cfg.Path = path
	before := inUse()
	set := open(t, cfg, nil, 3, "profiling")
	if !set.Streamed() || small.Streamed() {
		t.Fatalf("streamed: %v of %d bytes, %v of a small one", set.Streamed(), streamedFrom+1, small.Streamed())
	}
	play := set.Sampler(1)
	for i := range n + 2 {
		c := play.Next()
		if c == nil {
			t.Fatalf("conversation %d of %d: %v", i, n, set.Err())
		}
		if i < k {
			if diff := cmp.Diff(small.At(i), c); diff != "" {
				t.Fatalf("conversation %d: - held, + read when played\n%s", i, diff)
			}
		}
		if want := fmt.Sprintf("session_%06d", i%n); c.ID != want ||
			!strings.HasPrefix(c.Turns[0].Texts[0], fmt.Sprintf("%d ", i%n)) {
			t.Fatalf("play %d is %s %.20q, want %s", i, c.ID, c.Turns[0].Texts[0], want)
		}
	}
	for i := range 40 {
		i = i * 997 % n
		if c := set.At(i); c.ID != fmt.Sprintf("session_%06d", i) ||
			!strings.HasPrefix(c.Turns[0].Texts[0], fmt.Sprintf("%d ", i)) {
			t.Fatalf("conversation %d is %s %.20q", i, c.ID, c.Turns[0].Texts[0])
		}
	}
	if set.Len() != n || set.Turns() != n || set.Err() != nil {
		t.Errorf("%d conversations, %d turns, %v; want %d of one turn", set.Len(), set.Turns(), set.Err(), n)
	}
	if grown := inUse() - before; grown > 8<<20 {
		t.Errorf("%d bytes in use for a file of %d", grown, streamedFrom+1)
	}
	runtime.KeepAlive(set)
	cfg.Sampling = "shuffle"
	shuffled, dealt := open(t, cfg, nil, 3, "profiling").Sampler(1), map[string]bool{}
	for range n / 8 {
		dealt[shuffled.Next().ID] = true
	}
	if len(dealt) != n/8 || dealt["session_000000"] && dealt["session_000001"] && dealt["session_000002"] &&
		dealt["session_000003"] {
		t.Errorf("%d different conversations of %d in order of a shuffle", len(dealt), n/8)
	}
	if d := set.Doubts(); len(d) != 3 || !strings.Contains(d[0], `large.jsonl:1: field "x0" is ignored, in `) ||
		!strings.Contains(d[0], " of the first ") {
		t.Errorf("doubts %q", d)
	}
	if diff := cmp.Diff(open(t, cfg, nil, 4, "profiling").Digest(), set.Digest()); diff == "" {
		t.Error("another seed has the same digest")
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Only the beginning of a file is read before it is played: here 20 GiB follow
// that are no records at all, which the player meets when it gets there.
func TestPlayingBeginsBeforeTheFileIsRead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	path, n := large(t, "huge.jsonl", 9<<20, single)
	if err := os.Truncate(path, 20<<30); err != nil {
		t.Skip(err)
	}
	cfg := schema.Dataset{Type: "file", Path: path}
	if err := dataset.Check(cfg, nil); err != nil {
		t.Fatal(err)
	}
	set := open(t, cfg, nil, 1, "profiling")
	play := set.Sampler(1)
	for i := range n {
		if play.Next() == nil {
			t.Fatalf("conversation %d: %v", i, set.Err())
		}
	}
	if set.Err() != nil || set.Digest() == "" || !set.Streamed() {
		t.Errorf("error %v", set.Err())
	}
	want := fmt.Sprintf("%s:%d: line longer than 64 MiB; hint: a record is one line", path, n+1)
	if c := play.Next(); c != nil || set.Err() == nil || !strings.HasPrefix(diag.Line(set.Err()), want) {
		t.Errorf("behind the last record: %v, %v; want %s", c, set.Err(), want)
	}
	if c := play.Next(); c != nil {
		t.Errorf("a failed set goes on with %s", c.ID)
	}
}

// What a large file can have wrong is found where it stands.
func TestLargeFilesWithMistakes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	session := func(name func(i int) int) func(int) (string, string) {
		return func(i int) (string, string) {
			return fmt.Sprintf(`{"session_id": "s%d", "turns": [{"text": "%d `, name(i), i), `"}]}`
		}
	}
	t.Run("sessions of several lines", func(t *testing.T) {
		t.Parallel()
		path, n := large(t, "talk.jsonl", streamedFrom+1, session(func(i int) int { return i / 2 }))
		set := open(t, schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
		play := set.Sampler(1)
		for i := range n / 2 {
			if c := play.Next(); c == nil || c.ID != fmt.Sprintf("s%d", i) || len(c.Turns) != 2 ||
				!strings.HasPrefix(c.Turns[1].Texts[0], fmt.Sprintf("%d ", 2*i+1)) {
				t.Fatalf("session %d: %.60v, %v", i, c, set.Err())
			}
		}
		if c := set.At(100); c.ID != "s100" || len(c.Turns) != 2 || set.Turns() != n {
			t.Errorf("session 100 is %s with %d turns; %d of %d turns in all", c.ID, len(c.Turns), set.Turns(), n)
		}
	})
	t.Run("a session that goes on later", func(t *testing.T) {
		t.Parallel()
		path, _ := large(t, "torn.jsonl", 14<<20, session(func(i int) int { return i % 200 }))
		if err := os.Truncate(path, streamedFrom+1); err != nil {
			t.Skip(err)
		}
		set := open(t, schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
		play := set.Sampler(1)
		for i := range 199 { // the 200th may go on in the next line, which belongs to the first
			if play.Next() == nil {
				t.Fatalf("session %d: %v", i, set.Err())
			}
		}
		want := path + `:201: session "s0" goes on behind another one; hint: a file of more than 64 MiB is read while it is played: keep the lines of a session together`
		if c := play.Next(); c != nil || set.Err() == nil || !strings.HasPrefix(diag.Line(set.Err()), want) {
			t.Errorf("%v; want %s", set.Err(), want)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "c.jsonl.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewWriterLevel(f, gzip.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		longLines(t, z, streamedFrom+1, single)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		set := open(t, schema.Dataset{Type: "file", Path: path}, nil, 1, "profiling")
		if c := set.Sampler(1).Next(); c == nil || c.ID != "session_000000" || !set.Streamed() {
			t.Errorf("%v, %v", c, set.Err())
		}
		_, err = dataset.Open(schema.Dataset{Type: "file", Path: path, Sampling: "random"}, nil, 1, "profiling")
		if err == nil || !strings.Contains(diag.Line(err),
			"cannot be played in random order; hint: inflate it, or sampling sequential") {
			t.Errorf("in random order: %v", err)
		}
	})
}

// Tables and documents that memory cannot hold are refused by their size, before
// a row is read. The files are sparse.
func TestLargeTablesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, begins, what string }{
		{"f.csv", "text\nhello\n", "a CSV table"},
		{"f.tsv", "text\nhello\n", "a TSV table"},
		{"f.json", "[{\"text\": \"a\"},", "a JSON document"},
		{"f.parquet", "PAR1", "a Parquet file"},
	} {
		path := write(t, c.name, c.begins)
		if err := os.Truncate(path, 3<<30); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.Open(schema.Dataset{Type: "file", Path: path, Format: "single_turn"}, nil, 1, "profiling")
		want := path + ": " + c.what + " of 3072 MiB would be needed in memory, more than the limit of 1024 MiB"
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", c.name, err, want)
		}
	}
}
