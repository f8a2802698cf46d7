package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/format"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file's format is found from several records, with the reason.
func TestDetect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, format, why string }{
		{"one.jsonl", `{"text":"a"}` + "\n" + `{"texts":["a","b"]}` + "\n", "single_turn", "2 records look like it: it has text"},
		{"talk.jsonl", `{"turns":[{"text":"a"}]}` + "\n", "multi_turn", "1 record looks like it: it has turns"},
		{"said.jsonl", `{"type":"multi_turn","turns":[]}` + "\n", "multi_turn", "the first record says type: multi_turn"},
	} {
		got, err := format.Detect(write(t, c.name, c.text))
		if err != nil || got.Format != c.format || got.Why != c.why {
			t.Errorf("Detect(%s) = %q, %q, %v; want %q, %q", c.text, got.Format, got.Why, err, c.format, c.why)
		}
		for _, not := range got.Not {
			if not.Format == got.Format || not.Why == "" {
				t.Errorf("Detect(%s): rejected %q because %q", c.text, not.Format, not.Why)
			}
		}
	}
}

func TestDetectRefusesMixedFiles(t *testing.T) {
	t.Parallel()
	path := write(t, "mixed.jsonl", `{"text":"a"}`+"\n"+`{"text":"b"}`+"\n\n"+`{"turns":[{"text":"c"}]}`+"\n")
	_, err := format.Detect(path)
	if err == nil || !strings.HasPrefix(err.Error(), path+":4: not single_turn like the records before it") {
		t.Errorf("Detect = %v; want an error for line 4", err)
	}
}

func TestDetectSaysWhetherRecordsAreTimed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"text":"a"}`: false, `{"text":"a","timestamp":5}`: true, `{"turns":[{"text":"a","timestamp":0}]}`: true,
		`{"turns":[{"text":"a"}]}`: false,
	} {
		if got, err := format.Detect(write(t, "f.jsonl", text)); err != nil || got.Timed != want {
			t.Errorf("Detect(%s).Timed = %v, %v; want %v", text, got.Timed, err, want)
		}
	}
}
