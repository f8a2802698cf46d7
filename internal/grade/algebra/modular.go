package algebra

import (
	"hash/fnv"
	"math/big"
	"math/bits"
)

// prime is 2^61-1. Two different expressions agree at a random point with a chance of
// about their degree over prime.
const prime = 1<<61 - 1

func addMod(a, b uint64) uint64 {
	if s := a + b; s < prime {
		return s
	}
	return a + b - prime
}

func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return addMod(lo&prime, hi<<3|lo>>61)
}

func powMod(a uint64, n uint64) uint64 {
	r := uint64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			r = mulMod(r, a)
		}
		a = mulMod(a, a)
	}
	return r
}

func inverse(a uint64) uint64 { return powMod(a, prime-2) }

// exact is the value of an expression at a random point modulo prime. It is not known
// (false) for roots, functions, constants that are no fractions, and where a divisor
// is 0.
func (e *Expr) exact(point uint64) (uint64, bool) {
	switch e.op {
	case number:
		return ratMod(e.value)
	case symbol:
		h := fnv.New64a()
		_, _ = h.Write([]byte(e.name))
		return mix(h.Sum64()+point*0x9e3779b97f4a7c15) % prime, true
	case power:
		return e.exactPower(point)
	case function:
		return e.exactFunction(point)
	case sum, product, quotient, negative:
		return e.exactArithmetic(point)
	}
	return 0, false
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func ratMod(v *big.Rat) (uint64, bool) {
	p := new(big.Int).SetUint64(prime)
	n := new(big.Int).Mod(v.Num(), p).Uint64()
	d := new(big.Int).Mod(v.Denom(), p).Uint64()
	return mulMod(n, inverse(d)), d != 0
}

func (e *Expr) exactArithmetic(point uint64) (uint64, bool) {
	r, ok := e.args[0].exact(point)
	if !ok {
		return 0, false
	}
	if e.op == negative {
		return (prime - r) % prime, true
	}
	for _, a := range e.args[1:] {
		v, ok := a.exact(point)
		if !ok {
			return 0, false
		}
		switch e.op {
		case sum:
			r = addMod(r, v)
		case product:
			r = mulMod(r, v)
		default:
			if v == 0 {
				return 0, false
			}
			r = mulMod(r, inverse(v))
		}
	}
	return r, true
}

// exactPower is a power whose exponent is a whole number of 64 bits.
func (e *Expr) exactPower(point uint64) (uint64, bool) {
	n, ok := e.args[1].whole()
	if !ok {
		return 0, false
	}
	base, ok := e.args[0].exact(point)
	if !ok || base == 0 && n <= 0 {
		return 0, false
	}
	if n < 0 {
		return inverse(powMod(base, uint64(-n))), true
	}
	return powMod(base, uint64(n)), true
}

// mostFactors bounds the work of factorials.
const mostFactors = 1000

func (e *Expr) exactFunction(point uint64) (uint64, bool) {
	switch e.name {
	case "percent":
		v, ok := e.args[0].exact(point)
		h, _ := ratMod(hundredth)
		return mulMod(v, h), ok
	case "factorial":
		n, ok := e.args[0].whole()
		if !ok || n < 0 || n > mostFactors {
			return 0, false
		}
		return factorial(n), true
	case "binom":
		n, okN := e.args[0].whole()
		k, okK := e.args[1].whole()
		if !okN || !okK || k < 0 || n < k || n > mostFactors {
			return 0, false
		}
		return mulMod(factorial(n), inverse(mulMod(factorial(k), factorial(n-k)))), true
	}
	return 0, false
}

func factorial(n int64) uint64 {
	r := uint64(1)
	for i := int64(2); i <= n; i++ {
		r = mulMod(r, uint64(i))
	}
	return r
}

// most bounds whole numbers: below it no sum or product of two overflows.
const most = 1 << 62

// whole is the value of an expression that is a whole number without a symbol.
func (e *Expr) whole() (int64, bool) {
	switch e.op {
	case number:
		if !e.value.IsInt() || !e.value.Num().IsInt64() {
			return 0, false
		}
		return e.value.Num().Int64(), true
	case negative:
		n, ok := e.args[0].whole()
		return -n, ok && n > -most
	case power, sum, product, quotient:
	default:
		return 0, false
	}
	r, ok := e.args[0].whole()
	for _, a := range e.args[1:] {
		var n int64
		if n, ok = a.whole(); !ok {
			return 0, false
		}
		if r, ok = e.small(r, n); !ok {
			return 0, false
		}
	}
	return r, ok
}

// small is the operation of e on whole numbers, where the result is one below most.
func (e *Expr) small(a, b int64) (int64, bool) {
	x, y := big.NewInt(a), big.NewInt(b)
	switch e.op {
	case sum:
		x.Add(x, y)
	case product:
		x.Mul(x, y)
	case quotient:
		if b == 0 || a%b != 0 {
			return 0, false
		}
		x.Quo(x, y)
	case power:
		if b < 0 || b > 62 && (a > 1 || a < -1) {
			return 0, false
		}
		x.Exp(x, big.NewInt(b%64+min(b/64, 1)*64), nil) // of 0, 1 and -1 only the parity counts
	}
	return x.Int64(), x.IsInt64() && x.CmpAbs(big.NewInt(most)) < 0
}
