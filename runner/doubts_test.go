package runner

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// What weakens the results of a run stands in its report.
func TestDoubtsOfTheTransport(t *testing.T) {
	t.Parallel()
	const unchecked, late = "TLS certificate was not checked", "this program's and not the kernel's"
	for _, c := range []struct {
		url      string
		insecure bool
		stamps   string
		want     []string
	}{
		{"https://host", false, "kernel", nil},
		{"https://host", true, "kernel", []string{unchecked}},
		{"http://host", true, "kernel", nil}, // there is nothing to check
		{"https://host", true, "application", []string{unchecked, late}},
		{"http://host", false, "application", []string{late}},
	} {
		got := transportDoubts(&schema.Endpoint{URLs: []string{c.url}, Insecure: c.insecure}, c.stamps)
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s, insecure %v, stamps %s: %q, want %q", c.url, c.insecure, c.stamps, got, c.want)
		}
	}
}
