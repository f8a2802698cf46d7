package verdict

import (
	"strings"
	"testing"
)

func TestIdentityCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after []ServerIdentity
		asked         []string
		want          float64
		words         string
	}{
		{"the same", faces("s", "a"), faces("s", "a"), []string{"a"}, 0, "the same models"},
		{"an adapter came", faces("s", "a"), faces("s", "a", "lora"), []string{"a"}, 1, "a, lora at the end"},
		{"the asked one went", faces("s", "a", "b"), faces("s", "b"), []string{"a"}, 2, "listed a at the start and b at the end"},
		{"asked for by a name that was never listed", faces("s", "a"), faces("s", "a"), []string{"alias"}, 0, "the same"},
		{"all are others", faces("s", "a"), faces("s", "b"), []string{"alias"}, 2, "b at the end"},
		{"another length", faces("s", "a of 4096 tokens"), faces("s", "a of 8192 tokens"), []string{"a"}, 2, "8192"},
		{"another server", faces("vllm/1", "a"), faces("vllm/2", "a"), []string{"a"}, 1, `"vllm/1" at the start and "vllm/2"`},
		{"silent at the end", faces("s", "a"), []ServerIdentity{{}}, []string{"a"}, 1, "not at the end"},
		{"many", faces("s", "a", "b", "c", "d", "e"), []ServerIdentity{{Server: "s", Models: []string{}}}, []string{"x"}, 2, "a, b, c and 2 more at the start and no model"},
	} {
		id := Identity{Before: c.before, After: c.after, Asked: c.asked}
		if got, words := id.compare(); got != c.want || !strings.Contains(words, c.words) {
			t.Errorf("%s: %v %q, want %v …%s…", c.name, got, words, c.want, c.words)
		}
	}
}
