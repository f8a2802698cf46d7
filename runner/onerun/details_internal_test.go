package onerun

import (
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
)

// What is kept of an answer has its prose and its tool calls, in whichever
// combination they come.
func TestTextBesideToolCallsIsKept(t *testing.T) {
	t.Parallel()
	client, err := transport.Open(transport.Config{Targets: []string{"http://127.0.0.1:1"}, Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // nothing was sent
	for _, c := range []struct{ text, tool, want string }{
		{"Let me look.", `weather{"city":"Bern"}`, `Let me look.weather{"city":"Bern"}`},
		{"", "weather{}", "weather{}"},
		{"Rain.", "", "Rain."},
	} {
		got := exchange(client, &transport.Exchange{}, loadgen.Said{Text: []byte(c.text), Tool: []byte(c.tool)})
		if string(got.Text) != c.want {
			t.Errorf("kept %q, want %q", got.Text, c.want)
		}
	}
}
