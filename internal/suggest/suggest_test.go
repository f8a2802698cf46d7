package suggest

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"concurrency", "requests", "rate", "grace_period", "time_to_first_token"}
	for in, want := range map[string]string{
		"concurency": "concurrency", "reqeusts": "requests", "Rate": "rate",
		"gracePeriod": "grace_period", "grace-perod": "grace_period", "zzz": "", "": "", "ttft": "time_to_first_token", "tftt": "time_to_first_token", "GP": "",
	} {
		if got := Nearest(in, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Nearest("prof", []string{"plot", "profile", "profiles"}); got != "profile" {
		t.Errorf("prof is near %s", got)
	}
	if got := Nearest("modelx", []string{"models", "model"}); got != "model" {
		t.Errorf("modelx is near %s", got)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "ab", 1},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
