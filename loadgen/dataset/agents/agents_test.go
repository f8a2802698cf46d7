package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/agents"
)

// Which requests belong to one agent. A request is written as its time, its
// model and its blocks, a letter each; each one was answered half a second after
// it was sent.
func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ requests, want string }{
		"one agent":                        {"0 m ab, 1 m abc, 2 m abcd", "0 1 2"},
		"nothing":                          {"", ""},
		"one request":                      {"0 m a", "0"},
		"two, one after the other":         {"0 m ab, 1 m xy, 2 m abc, 3 m xyz", "0 2; 1 3"},
		"a fork, and the first goes on":    {"0 m ab, 1 m abc, 2 m abx, 3 m abcd, 4 m abxy", "0 1 3; 2 4"},
		"a shorter context goes on":        {"0 m abc, 1 m abx, 2 m abxy", "0 1 2"},
		"the deeper of two goes on":        {"0 m abcd, 1 m ax, 2 m abcx, 3 m abcxy", "0 2 3; 1"},
		"another model":                    {"0 m ab, 1 n abc, 2 m abcd", "0 2; 1"},
		"before the answer":                {"0 m ab, 0.2 m abc, 1 m abcd", "0; 1 2"},
		"hours later, with little left":    {"0 m abcd, 9000 m ax, 9001 m axy", "0; 1 2"},
		"hours later, with most left":      {"0 m abcd, 9000 m abcx, 9001 m abcxy", "0 1 2"},
		"without blocks":                   {"0 m ab, 1 m , 2 m abc", "0 1 2"},
		"a title":                          {"0 m t, 1 m ab, 2 m abc, 3 m abcd, 4 m x, 5 m abcde", "0 1 2 3 5; 4"},
		"a first request that comes again": {"0 m tu, 1 m ab, 2 m abc, 3 m tuv", "0 3; 1 2"},
	} {
		var list []agents.Request
		for i, words := range strings.Split(c.requests, ", ") {
			if words == "" {
				continue
			}
			q := agents.Request{Place: i, Out: 5}
			var blocks string
			if _, err := fmt.Sscanf(words+" -", "%g %s %s", &q.T, &q.Model, &blocks); err != nil {
				t.Fatal(err)
			}
			q.End = q.T + 0.5
			for _, b := range strings.Trim(blocks, "-") {
				q.Hashes = append(q.Hashes, uint64(b))
			}
			list = append(list, q)
		}
		main, others := agents.Split(list)
		got := places(main)
		for _, o := range others {
			got += "; " + places(o)
		}
		if got != c.want {
			t.Errorf("%s: %s: %s, want %s", name, c.requests, got, c.want)
		}
	}
}

func places(list []agents.Request) string {
	var out []string
	for _, q := range list {
		out = append(out, fmt.Sprint(q.Place))
	}
	return strings.Join(out, " ")
}
