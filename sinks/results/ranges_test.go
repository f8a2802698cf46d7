package results

import (
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// How far a number may be off is read back for the run that said it, wherever its report lies.
func TestRangesOfRunsAreReadBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		resultdir.JournalName: `{"event":"start","run":"a-t0","attempt":1}
{"event":"start","run":"b-t1","attempt":1}
`,
		resultdir.ReportsName: `[{"run":"a-t0","cell":"a","trial":0},
{"run":"b-t1","cell":"b","trial":1,"ranges":{"time_to_first_token.p50":{"less":0.01,"more":0.02}}}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[[2]int]*decide.Outcome{{0, 0}: {}, {1, 0}: {}, {1, 1}: {}}
	fillReports(dir, []resultdir.LockCell{{ID: "a"}, {ID: "b"}}, at, true)
	want := validity.Range{Less: 0.01, More: 0.02}
	if at[[2]int{0, 0}].Ranges != nil || at[[2]int{1, 0}].Ranges != nil ||
		at[[2]int{1, 1}].Ranges["time_to_first_token.p50"] != want {
		t.Errorf("%+v", at)
	}
}
