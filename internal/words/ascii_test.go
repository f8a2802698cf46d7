package words

import "testing"

func TestASCIITerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false},
		{"", "", "de_DE.UTF-8", false},
		{"", "", "C.utf8", false},
		{"", "", "C", true},
		{"", "", "de_DE.ISO-8859-1", true},
		{"C", "", "de_DE.UTF-8", true},
		{"", "de_DE.UTF-8", "C", false},
		{"POSIX", "", "", true},
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := ASCIITerminal(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%v: %v", env, got)
		}
	}
}

func TestASCII(t *testing.T) {
	t.Parallel()
	const s = "cell 1/2 · ██░ ▁▂▃▄▅▆▇█ lag 3 µs – Zürich 模型 e\u0301…"
	got := ASCII(s)
	if want := "cell 1/2 | ##. _.-=+*%# lag 3 us - Z?rich ???? e~"; got != want || Width(s) != len(got) {
		t.Errorf("%q, want %q", got, want)
	}
}
