package jinja_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/jinja"
)

func rendered(t testing.TB, text string, values map[string]any) (string, error) {
	t.Helper()
	tpl, err := jinja.Parse(text)
	if err != nil {
		return "", err
	}
	return tpl.Run(values)
}

// A mistake says its line and what is wrong, and a name that there is not.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n{{ nmae }}": "line 2: nmae is not defined",
		"{% for i in l %}\n{{ i.name.x }}{% endfor %}": "line 2: i has no member name",
		"{{ 'a' + 1 }}":               "line 1: str + int is not possible",
		"{% if a %}":                  "line 1: a block without its {% endif %}",
		"{{ a":                        "line 1: a tag without its end }}",
		"\n{% include 'x' %}":         "line 2: templates read no files",
		"{{ 1|shout }}":               "line 1: there is no filter shout",
		"{{ 1 is loud }}":             "line 1: there is no test loud",
		"{{ l|join(',', glue='-') }}": "line 1: join: there is no argument glue",
		"{{ l.append(1) }}":           "line 1: append: a template changes no value; hint: namespace() has members that can be set",
		"{{ 99999999999999999999 }}":  "line 1: 99999999999999999999 is not a number of 64 bits",
	} {
		_, err := rendered(t, text, map[string]any{"l": []any{1}})
		if err == nil || diag.Line(err) != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		var e *jinja.Error
		if !errors.As(err, &e) || (e.Undefined != "") != strings.Contains(want, "nmae") {
			t.Errorf("%q: %#v", text, err)
		}
	}
}

// No template runs for ever, goes too deep or fills the memory.
func TestBounds(t *testing.T) {
	t.Parallel()
	thousands := strings.Repeat("{% for i in range(100000) %}", 3) + "x" + strings.Repeat("{% endfor %}", 3)
	for text, want := range map[string]string{
		thousands: "the template does not end",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "levels deep",
		"{{ 'a' * 999999999999 }}":                        "MiB of text",
		"{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}": "MiB of text",
		"{{ ('a' * 9999999)|replace('a', 'b' * 9999) }}":                                                   "MiB of text",
		"{{ range(100001) }}":                        "more than 100000 numbers",
		"{{ [1] * 99999999 }}":                       "more than 100000 elements",
		"{{ 'x'.center(99999999) }}":                 "a width of at most",
		"{{ 9 ** 999999999 }}":                       "64 bits",
		"{{ " + strings.Repeat("-", 100000) + "1 }}": "levels",
		"{{ " + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + " }}": "levels",
		strings.Repeat("{% if 1 %}", 100000):                                      "levels",
	} {
		if _, err := rendered(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	if _, err := jinja.FromJSON([]byte(deep)); err == nil {
		t.Error("JSON of 1000 levels was read")
	}
}

// A template is safe for concurrent use: nothing of one run reaches another.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	tpl, err := jinja.Parse("{% set ns = namespace(n=0) %}{% for i in range(100) %}{% set ns.n = ns.n + by %}{% endfor %}{{ ns.n }}")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for by := range 8 {
		all.Go(func() {
			for range 20 {
				if got, err := tpl.Run(map[string]any{"by": by}); err != nil ||
					got != []string{"0", "100", "200", "300", "400", "500", "600", "700"}[by] {
					t.Errorf("by %d: %q, %v", by, got, err)
				}
			}
		})
	}
	all.Wait()
}

// No text makes the parser or a run end the program.
func FuzzTemplates(f *testing.F) {
	for _, seed := range []string{
		"{{ a.b[1:2]|join(',') ~ 'x' }}", "{% for a, b in d.items() if a recursive %}{{ loop(b) }}{% else %}{% endfor %}", "{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{% call m(1) %}{% endcall %}",
		"{% raw %}{% endraw %}{#- -#}", "{{ '%s' % (1,) }}{{ '{:>5}'.format(1) }}", "{% set a.b = namespace() %}{% filter upper %}{% endfilter %}{{ 1 if a else 2 is divisibleby 3 }}", "{{ l|sort|batch(2)|list|tojson(indent=2) }}",
		"{{ 'a'|truncate(3)|wordwrap(2)|indent|title|center(9) }}{{ -2 ** 3 // 4 % 5 }}", "{% with a=1 %}{{ a }}{% endwith %}{% generation %}{% endgeneration %}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := map[string]any{
			"a": map[string]any{"b": []any{1, "x", nil, 2.5}}, "d": map[string]any{"k": "v"},
			"l": []any{3, 1, 2},
		}
		chat, err := jinja.ParseChat(text, clock)
		if err == nil {
			_, _ = chat.Run(values)
		}
		_, _ = rendered(t, text, values)
	})
}
