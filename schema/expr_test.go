package schema

import (
	"errors"
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	t.Parallel()
	names := map[string]any{"concurrency": int64(4), "isl": 128.0, "endpoint": "baseline"}
	for src, want := range map[string]any{
		"max(10*concurrency, 50)": int64(50), "isl*concurrency": int64(512), "isl/256": 0.5, "endpoint + '-x'": "baseline-x", "concurrency": int64(4),
		"concurrency > 2 && endpoint == 'baseline'": true,
	} {
		p, err := CompileExpr(src, names, false)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got, err := p.Run(names); err != nil || got != want {
			t.Errorf("%s = %v (%T), %v; want %v", src, got, got, err, want)
		}
	}
}

func TestExpressionMistakes(t *testing.T) {
	t.Parallel()
	names := map[string]any{"concurrency": int64(4), "isl": 128.0}
	for src, want := range map[string]string{
		"concurency > 2":        "unknown name concurency | did you mean concurrency?",
		"now()":                 "unknown name now",
		"isl + ":                "unexpected token EOF",
		"isl":                   "expected bool, but got float64",
		"isl = 0":               `unexpected token Operator("=") | write == for equal, <= for at most`,
		"isl <> 0":              `unexpected token Operator(">") | write != for unequal, >= for at least`,
		"isl < 5ms":             `bad number syntax: "5m" | write the number alone: each metric has its unit, times of a request are in ms (aiperf explain metric NAME)`,
		"isl < 5 ms":            `unexpected token Identifier("ms") | write the number alone: each metric has its unit, times of a request are in ms (aiperf explain metric NAME)`,
		"isl//2 > 0":            "// begins a comment, which would hide the rest | int(a / b)",
		"'a//b' == isl /* x */": "/* begins a comment",
		"isl > 'a'":             "invalid operation: > (mismatched types float64 and string)",
	} {
		_, err := CompileExpr(src, names, true)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error()+" | "+e.Hint, want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
	if _, err := CompileExpr("'http://a' == \"b//\" || isl / 2 > 1", names, true); err != nil {
		t.Errorf("slashes in texts are no comments: %v", err)
	}
	if p, err := CompileExpr("concurrency % 0", names, false); err != nil {
		t.Error(err)
	} else if _, err := p.Run(names); err == nil || err.Error() != "division by zero" {
		t.Errorf("concurrency %% 0: %v, want division by zero", err)
	}
	p, err := CompileExpr("isl / (concurrency - 4)", names, false)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Run(names); err == nil {
		t.Errorf("128/0 = %v", v)
	}
}
