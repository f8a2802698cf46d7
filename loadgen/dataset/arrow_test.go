package dataset_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// arrowOf writes the sample of baseten_trace as an Arrow file, in two batches,
// or as a stream of them.
func arrowOf(t *testing.T, name string, stream bool) string {
	t.Helper()
	integer := arrow.PrimitiveTypes.Int64
	s := arrow.NewSchema([]arrow.Field{
		{Name: "timestamp_start_unix_ms", Type: integer},
		{Name: "prompt", Type: arrow.BinaryTypes.LargeString},
		{Name: "input_tokens", Type: integer},
		{Name: "output_tokens", Type: integer},
		{Name: "provided_session_id", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "poor_man_session_id", Type: integer, Nullable: true},
		{Name: "duration_e2e_ms", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "total_hashes", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint64), Nullable: true},
		{Name: "block_size", Type: integer, Nullable: true},
		{Name: "duration_ttft_ms", Type: integer, Nullable: true},
		{Name: "request_canceled", Type: integer, Nullable: true},
	}, nil)
	sample, err := os.ReadFile(sampleOf(t, "baseten_trace"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var w interface {
		Write(arrow.Record) error
		io.Closer
	}
	if w, err = ipc.NewFileWriter(f, ipc.WithSchema(s), ipc.WithZstd()); stream {
		w = ipc.NewWriter(f, ipc.WithSchema(s))
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(sample), []byte("\n"))
	for _, part := range [][][]byte{lines[:3], lines[3:]} {
		rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, s,
			bytes.NewReader([]byte("["+string(bytes.Join(part, []byte(",")))+"]")))
		if err == nil {
			err = w.Write(rows)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// An Arrow file has the conversations of the same rows as JSON lines.
func TestArrowFiles(t *testing.T) {
	t.Parallel()
	talks := func(path string) (all []loadedTalk) {
		set := open(t, schema.Dataset{Type: "file", Path: path, Format: "baseten_trace"}, tok(t, "builtin"), 1,
			"profiling")
		for c := range set.Each() {
			all = append(all, talk(c))
		}
		return all
	}
	want := talks(sampleOf(t, "baseten_trace"))
	file := arrowOf(t, "trace.arrow", false)
	for _, path := range []string{
		file, arrowOf(t, "trace.ipc", false), arrowOf(t, "stream.arrow", true),
		arrowOf(t, "nameless", false),
	} {
		if diff := cmp.Diff(want, talks(path)); diff != "" || len(want) != 4 {
			t.Errorf("%s: - JSON lines, + Arrow\n%s", filepath.Base(path), diff)
		}
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"half.arrow":  {whole[:len(whole)/2], "half.arrow: not a sound Arrow file; hint: was it copied completely? the list of its rows, at its end, is missing or damaged"},
		"other.arrow": {[]byte("no table\n"), "other.arrow: is not an Arrow file: it begins neither as a file nor as a stream of Arrow; hint: was it copied completely? "},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := dataset.Open(schema.Dataset{Type: "file", Path: path, Format: "baseten_trace"}, tok(t, "builtin"), 1,
			"profiling")
		if err == nil || !strings.Contains(diag.Line(err), c.want) || strings.Contains(diag.Line(err), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
