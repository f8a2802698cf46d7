package pycode

import (
	"encoding/json"
	"math/big"
	"strings"
)

// sameLines compares outputs line by line: stripped, the same, or the same numbers.
func sameLines(want, got string) string {
	a, b := lines(want), lines(got)
	if len(a) != len(b) {
		return "wrong answer: another number of lines"
	}
	for i := range a {
		if a[i] != b[i] && !sameNumbers(a[i], b[i]) {
			return "wrong answer"
		}
	}
	return ""
}

func lines(s string) []string {
	out := strings.Split(strings.TrimSpace(s), "\n")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

func sameNumbers(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		v, okV := decimal(x[i])
		w, okW := decimal(y[i])
		if !okV || !okW || v.Cmp(w) != 0 {
			return false
		}
	}
	return true
}

// decimal reads a number exactly; one with an exponent that would fill memory is none.
func decimal(s string) (*big.Rat, bool) {
	if len(s) > 10_000 || strings.ContainsAny(s, "/_xXpPoO") {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// sameValue compares the JSON behind the mark with what is expected.
func sameValue(want, got, mark string) string {
	_, result, ok := strings.Cut(got, "\n"+mark)
	if !ok {
		return "gave no result"
	}
	a, okA := value(want)
	b, okB := value(result)
	if !okA {
		return "the expected output is not JSON"
	}
	if !okB || !equal(a, b) {
		return "wrong answer"
	}
	return ""
}

func value(s string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// equal compares as Python's == does: 1 is 1.0 and True.
func equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			v, there := y[k]
			if !there || !equal(x[k], v) {
				return false
			}
		}
		return true
	}
	v, okV := asNumber(a)
	w, okW := asNumber(b)
	if okV && okW {
		return v.Cmp(w) == 0
	}
	return okV == okW && a == b
}

func asNumber(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case json.Number:
		return decimal(v.String())
	case bool:
		if v {
			return big.NewRat(1, 1), true
		}
		return new(big.Rat), true
	}
	return nil, false
}
