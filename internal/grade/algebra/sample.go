package algebra

import (
	"hash/fnv"
	"math"
	"math/cmplx"
	"strings"
)

// points are how often two expressions are compared in floating point. At the later
// ones symbols are negative.
const points = 8

// at is the value of an expression at a point, in floating point; NaN where there is
// none.
func (e *Expr) at(point int) complex128 {
	switch e.op {
	case number:
		v, _ := e.value.Float64()
		return complex(v, 0)
	case symbol:
		return complex(place(e.name, point), 0)
	case constant:
		switch e.name {
		case "pi":
			return math.Pi
		case "e":
			return math.E
		case "i":
			return 1i
		}
		return cmplx.NaN()
	case power:
		return raise(e.args[0].at(point), e.args[1].at(point))
	case function:
		return e.apply(point)
	case sum, product, quotient, negative:
		return e.arithmetic(point)
	}
	return cmplx.NaN()
}

// place is where a symbol stands at a point.
func place(name string, point int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	v := 0.3 + 2.4*float64(mix(h.Sum64()+uint64(point)*0x9e3779b97f4a7c15)>>11)/(1<<53)
	if point >= points/2 {
		return -v
	}
	return v
}

func (e *Expr) arithmetic(point int) complex128 {
	r := e.args[0].at(point)
	if e.op == negative {
		return -r
	}
	for _, a := range e.args[1:] {
		v := a.at(point)
		switch e.op {
		case sum:
			r += v
		case product:
			r *= v
		default:
			r /= v
		}
	}
	return r
}

// raise is a power; real roots of negative numbers with an odd degree are complex, as
// in sympy.
func raise(a, b complex128) complex128 {
	if imag(a) == 0 && imag(b) == 0 && (real(a) >= 0 || real(b) == math.Trunc(real(b))) {
		return complex(math.Pow(real(a), real(b)), 0)
	}
	return cmplx.Pow(a, b)
}

// functions of one argument.
func functionOf(name string) func(complex128) complex128 {
	switch name {
	case "sin", "cos", "tan", "cot", "sec", "csc":
		return trigonometric(name)
	case "arcsin":
		return cmplx.Asin
	case "arccos":
		return cmplx.Acos
	case "arctan":
		return cmplx.Atan
	case "sinh":
		return cmplx.Sinh
	case "cosh":
		return cmplx.Cosh
	case "tanh":
		return cmplx.Tanh
	case "ln", "log":
		return cmplx.Log
	case "lg":
		return cmplx.Log10
	case "exp":
		return cmplx.Exp
	case "abs":
		return func(z complex128) complex128 { return complex(cmplx.Abs(z), 0) }
	case "percent":
		return func(z complex128) complex128 { return z / 100 }
	case "floor":
		return func(z complex128) complex128 { return complex(math.Floor(real(z)), 0) }
	case "ceil":
		return func(z complex128) complex128 { return complex(math.Ceil(real(z)), 0) }
	case "factorial":
		return func(z complex128) complex128 { return complex(math.Gamma(real(z)+1), 0) }
	}
	return nil
}

func trigonometric(name string) func(complex128) complex128 {
	switch name {
	case "sin":
		return cmplx.Sin
	case "cos":
		return cmplx.Cos
	case "tan": // math/cmplx has a series of its own here, without a bound
		return func(z complex128) complex128 { return cmplx.Sin(z) / cmplx.Cos(z) }
	case "cot":
		return func(z complex128) complex128 { return cmplx.Cos(z) / cmplx.Sin(z) }
	case "sec":
		return func(z complex128) complex128 { return 1 / cmplx.Cos(z) }
	}
	return func(z complex128) complex128 { return 1 / cmplx.Sin(z) }
}

func (e *Expr) apply(point int) complex128 {
	if f := functionOf(e.name); f != nil && len(e.args) == 1 {
		return f(e.args[0].at(point))
	}
	if e.name == "binom" {
		n, k := real(e.args[0].at(point)), real(e.args[1].at(point))
		return complex(math.Gamma(n+1)/math.Gamma(k+1)/math.Gamma(n-k+1), 0)
	}
	if (e.name == "max" || e.name == "min") && len(e.args) > 0 {
		v := real(e.args[0].at(point))
		for _, a := range e.args[1:] {
			if w := real(a.at(point)); (w > v) == (e.name == "max") {
				v = w
			}
		}
		return complex(v, 0)
	}
	return cmplx.NaN()
}

// usable reports whether a value can be compared.
func usable(z complex128) bool {
	a := cmplx.Abs(z)
	return !math.IsNaN(a) && a < 1e300
}

// near compares two values: 1 for the same, -1 for different, 0 where rounding hides it.
func near(a, b complex128) int {
	diff := cmplx.Abs(a - b)
	scale := max(cmplx.Abs(a), cmplx.Abs(b))
	switch {
	case diff <= 1e-10*scale, diff < 1e-300:
		return 1
	case diff > 1e-7*scale:
		return -1
	}
	return 0
}

// has reports whether any part of an expression fulfils a condition.
func (e *Expr) has(is func(*Expr) bool) bool {
	if is(e) {
		return true
	}
	for _, a := range e.args {
		if a.has(is) {
			return true
		}
	}
	return false
}

// Symbolic reports whether an expression holds a symbol or a text.
func (e *Expr) symbolic() bool {
	return e.has(func(x *Expr) bool { return x.op == symbol || x.op == word })
}

// joined are the letters of a product, or of a symbol, as one text.
func (e *Expr) joined() (string, bool) {
	switch e.op {
	case symbol, word:
		return e.name, true
	case constant:
		return e.name, e.name == "e" || e.name == "i"
	case product:
		var b strings.Builder
		for _, a := range e.args {
			s, ok := a.joined()
			if !ok || a.op == product {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}
