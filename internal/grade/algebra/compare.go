package algebra

import (
	"math"
	"math/big"
	"math/cmplx"
	"slices"
)

// Rule says how close numbers must be. The zero value wants them equal.
type Rule struct {
	Places int     // decimal places to which numbers are rounded where one is written as a decimal; 0: not
	Close  float64 // numbers that differ by less are the same
}

// Compare reports whether an answer equals what is true.
func (r Rule) Compare(truth, answer *Expr) Verdict {
	return (&comparison{r, effort}).compare(truth, answer)
}

// effort bounds the parts of expressions that one comparison looks at: lists of lists
// in any order could take for ever.
const effort = 1 << 18

// comparison is one call of Compare.
type comparison struct {
	Rule
	left int // of effort
}

// size is the number of parts of an expression.
func (e *Expr) size() int {
	n := 1
	for _, a := range e.args {
		n += a.size()
	}
	return n
}

func (r *comparison) compare(truth, answer *Expr) Verdict {
	if r.left < 0 {
		return Unknown
	}
	r.left -= truth.size() + answer.size()
	if truth.assigns() && !answer.equation() {
		truth = truth.last()
	}
	if answer.equation() && !truth.equation() {
		answer = answer.last()
	}
	if truth.op == relation && answer.isSet() {
		set, ok := truth.asSet()
		if !ok {
			return Unknown
		}
		truth = set
	}
	if truth.String() == answer.String() {
		return Same
	}
	if a, ok := truth.branches(); ok {
		truth = a
	}
	if b, ok := answer.branches(); ok {
		answer = b
	}
	switch {
	case truth.op == relation && answer.op == relation:
		return r.relations(truth, answer)
	case truth.op == relation || answer.op == relation:
		return Different
	case truth.isSet() || answer.isSet():
		return r.sets(truth, answer)
	case truth.op == matrix || answer.op == matrix:
		return r.matrices(truth, answer)
	}
	return r.scalars(truth, answer)
}

// equation reports whether all signs of a relation are "=".
func (e *Expr) equation() bool {
	return e.op == relation && !slices.ContainsFunc(e.signs, func(s string) bool { return s != "=" })
}

// assigns reports whether an equation says what a symbol, or f(x), is.
func (e *Expr) assigns() bool {
	return e.equation() && !e.args[0].has(func(x *Expr) bool {
		return x.op == number || x.op != symbol && x.op != word && x.op != product && x.op != constant
	})
}

func (e *Expr) last() *Expr { return e.args[len(e.args)-1] }

func (e *Expr) isSet() bool {
	return e.op == list || e.op == tuple || e.op == interval || e.op == union
}

// branches are both values of an expression with one ±, as a list.
func (e *Expr) branches() (*Expr, bool) {
	n := 0
	e.has(func(x *Expr) bool {
		if x.op == either {
			n++
		}
		return false
	})
	if n != 1 || e.isSet() || e.op == relation {
		return nil, false
	}
	return node(list, e.choose(false), e.choose(true)), true
}

// choose is a copy with ± replaced.
func (e *Expr) choose(minus bool) *Expr {
	if e.op == either {
		if minus {
			return node(negative, e.args[0])
		}
		return e.args[0]
	}
	c := *e
	c.args = make([]*Expr, len(e.args))
	for i, a := range e.args {
		c.args[i] = a.choose(minus)
	}
	return &c
}

// asSet is the interval that x < a, or a < x < b, means.
func (e *Expr) asSet() (*Expr, bool) {
	infinite := &Expr{op: constant, name: "infinity"}
	set := &Expr{op: interval, args: []*Expr{node(negative, infinite), infinite}, left: true, right: true}
	bound := func(low bool, by *Expr, s string) {
		at := 1
		if low {
			at = 0
		}
		set.args[at] = by
		if open := len(s) == 1; low {
			set.left = open
		} else {
			set.right = open
		}
	}
	less := func(s string) bool { return s == "<" || s == "<=" }
	more := func(s string) bool { return s == ">" || s == ">=" }
	switch {
	case len(e.args) == 2 && e.args[0].op == symbol && !e.args[1].symbolic() && (less(e.signs[0]) || more(e.signs[0])):
		bound(more(e.signs[0]), e.args[1], e.signs[0])
	case len(e.args) == 2 && e.args[1].op == symbol && !e.args[0].symbolic() && (less(e.signs[0]) || more(e.signs[0])):
		bound(less(e.signs[0]), e.args[0], e.signs[0])
	case len(e.args) == 3 && e.args[1].op == symbol && less(e.signs[0]) && less(e.signs[1]):
		bound(true, e.args[0], e.signs[0])
		bound(false, e.args[2], e.signs[1])
	default:
		return nil, false
	}
	return set, true
}

// all is Same if all verdicts are, Different if any is.
func all(verdicts ...Verdict) Verdict {
	out := Same
	for _, v := range verdicts {
		switch {
		case v == Different:
			return Different
		case v == Unknown:
			out = Unknown
		}
	}
	return out
}

// inOrder compares element by element.
func (r *comparison) inOrder(a, b []*Expr) Verdict {
	if len(a) != len(b) {
		return Different
	}
	out := Same
	for i := range a {
		if out = all(out, r.compare(a[i], b[i])); out == Different {
			return Different
		}
	}
	return out
}

// mostElements bounds lists that are compared in any order.
const mostElements = 64

// anyOrder finds a partner for each element. Elements that say the same twice count
// once.
func (r *comparison) anyOrder(a, b []*Expr) Verdict {
	if len(a) > mostElements || len(b) > mostElements {
		return Unknown
	}
	unknown := false
	covered := func(from, by []*Expr) Verdict {
		for _, x := range from {
			found := false
			for _, y := range by {
				v := r.compare(x, y)
				unknown = unknown || v == Unknown
				if found = v == Same; found {
					break
				}
			}
			if !found && unknown {
				return Unknown
			}
			if !found {
				return Different
			}
		}
		return Same
	}
	return all(covered(a, b), covered(b, a))
}

func (r *comparison) sets(truth, answer *Expr) Verdict {
	a, b := wrapped(truth), wrapped(answer)
	switch {
	case a.op == interval && b.op == interval:
		if a.left != b.left || a.right != b.right {
			return Different
		}
		return r.inOrder(a.args, b.args)
	case a.op == union || b.op == union:
		return r.unions(a, b)
	case a.op == interval:
		return r.pair(a, b)
	case b.op == interval:
		return r.pair(b, a)
	case a.op == list && b.op == list:
		return r.anyOrder(a.args, b.args)
	}
	return r.inOrder(a.args, b.args)
}

// wrapped is a set, or a set of one.
func wrapped(e *Expr) *Expr {
	if e.isSet() {
		return e
	}
	return node(list, e)
}

// pair compares (1,2), read as an interval, with two numbers in this order.
func (r *comparison) pair(i, other *Expr) Verdict {
	if !i.left || !i.right || len(other.args) != 2 {
		return Different
	}
	return r.inOrder(i.args, other.args)
}

func (r *comparison) unions(a, b *Expr) Verdict {
	parts := func(e *Expr) []*Expr {
		if e.op == union {
			return e.args
		}
		return []*Expr{e}
	}
	if v := r.anyOrder(parts(a), parts(b)); v != Different {
		return v
	}
	if len(parts(a)) == len(parts(b)) && len(parts(a)) > 0 && !overlaps(a) && !overlaps(b) {
		return Different
	}
	return Unknown // parts that touch or overlap may say the same in another way
}

// overlaps reports whether anything but intervals is joined: then parts may be written
// in several ways.
func overlaps(e *Expr) bool {
	return e.op == union && slices.ContainsFunc(e.args, func(x *Expr) bool { return x.op != interval })
}

func (r *comparison) matrices(a, b *Expr) Verdict {
	if a.op != matrix || b.op != matrix {
		return Unknown
	}
	if a.columns != b.columns {
		return Different
	}
	return r.inOrder(a.args, b.args)
}

// flipped are signs seen from the other side.
var flipped = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}

// relations compares both sides' differences: the same, or of the other sign behind the
// flipped sign. A multiple is not decided.
func (r *comparison) relations(a, b *Expr) Verdict {
	if len(a.args) != len(b.args) {
		return Unknown
	}
	if len(a.args) > 2 {
		return r.chains(a, b)
	}
	if a.args[1].isSet() || b.args[1].isSet() { // x in a set
		return all(r.compare(a.args[0], b.args[0]), r.compare(a.args[1], b.args[1]))
	}
	x := node(sum, a.args[0], node(negative, a.args[1]))
	y := node(sum, b.args[0], node(negative, b.args[1]))
	unknown := false
	if a.signs[0] == b.signs[0] {
		v := r.scalars(x, y)
		if v == Same {
			return Same
		}
		unknown = v == Unknown
	}
	if a.signs[0] == flipped[b.signs[0]] {
		v := r.scalars(x, node(negative, y))
		if v == Same {
			return Same
		}
		unknown = unknown || v == Unknown
	}
	if unknown || kindOf[a.signs[0]] == kindOf[b.signs[0]] && multiple(x, y) {
		return Unknown
	}
	return Different
}

// kindOf tells signs apart that no multiple turns into each other.
var kindOf = map[string]byte{"<": '<', ">": '<', "<=": 'l', ">=": 'l', "=": '=', "!=": '!'}

// chains compares a < x < b part by part, from either end.
func (r *comparison) chains(a, b *Expr) Verdict {
	turned := &Expr{op: relation}
	for i := len(b.args) - 1; i >= 0; i-- {
		turned.args = append(turned.args, b.args[i])
		if i > 0 {
			turned.signs = append(turned.signs, flipped[b.signs[i-1]])
		}
	}
	for _, c := range []*Expr{b, turned} {
		if slices.Equal(a.signs, c.signs) {
			return r.inOrder(a.args, c.args)
		}
	}
	return Different
}

// multiple reports whether one expression is the other one times a number.
func multiple(x, y *Expr) bool {
	ratio := cmplx.NaN()
	for p := range points {
		a, b := x.at(p), y.at(p)
		if !usable(a) || !usable(b) || a == 0 || b == 0 {
			return true // who knows
		}
		if p > 0 && near(a/b, ratio) < 0 {
			return false
		}
		ratio = a / b
	}
	return true
}

// scalars compares numbers and expressions.
func (r *comparison) scalars(a, b *Expr) Verdict {
	if s, ok := a.joined(); ok {
		if t, ok := b.joined(); ok && (a.op != product || b.op != product) {
			return verdict(s == t)
		}
	}
	if a.has(isWord) || b.has(isWord) {
		return wordsDiffer(a, b)
	}
	if v := infinite(a, b); v != Unknown {
		return v
	}
	if x, ok := a.rational(); ok {
		if y, ok := b.rational(); ok {
			return r.rationals(x, y, a.written() || b.written())
		}
	}
	if v := r.closeBy(a, b); v != Unknown {
		return v
	}
	if v := identical(a, b); v != Unknown {
		return v
	}
	return sampled(a, b)
}

func isWord(e *Expr) bool { return e.op == word }

// wordsDiffer decides on texts: a text is not a number, and two texts that are not
// equal differ. Texts among numbers are not decided.
func wordsDiffer(a, b *Expr) Verdict {
	if a.op == word && b.op == word || a.op == word && !b.symbolic() || b.op == word && !a.symbolic() {
		return Different
	}
	return Unknown
}

// infinite compares infinity, with its sign, with anything without it.
func infinite(a, b *Expr) Verdict {
	sign := func(e *Expr) int {
		if e.op == negative && e.args[0].op == constant && e.args[0].name == "infinity" {
			return -1
		}
		if e.op == constant && e.name == "infinity" {
			return 1
		}
		return 0
	}
	x, y := sign(a), sign(b)
	if x == 0 && y == 0 {
		return Unknown
	}
	return verdict(x == y)
}

func verdict(same bool) Verdict {
	if same {
		return Same
	}
	return Different
}

// written reports whether a number was written as a decimal.
func (e *Expr) written() bool {
	if e.op == negative || e.op == function && e.name == "percent" {
		return e.args[0].written()
	}
	return e.op == number && e.decimal
}

// rational is the value of a number, with its sign, its percent sign, or as a fraction.
func (e *Expr) rational() (*big.Rat, bool) {
	switch {
	case e.op == number:
		return e.value, true
	case e.op == negative:
		v, ok := e.args[0].rational()
		if !ok {
			return nil, false
		}
		return new(big.Rat).Neg(v), true
	case e.op == function && e.name == "percent":
		v, ok := e.args[0].rational()
		if !ok {
			return nil, false
		}
		return new(big.Rat).Mul(v, hundredth), true
	case e.op == quotient && e.args[0].op == number && e.args[1].op == number && e.args[1].value.Sign() != 0:
		return new(big.Rat).Quo(e.args[0].value, e.args[1].value), true
	}
	return nil, false
}

// rationals compares exactly, or rounded where one was written as a decimal.
func (r *comparison) rationals(a, b *big.Rat, decimal bool) Verdict {
	if a.Cmp(b) == 0 {
		return Same
	}
	if r.Places > 0 && decimal {
		return verdict(a.FloatString(r.Places) == b.FloatString(r.Places))
	}
	diff, _ := new(big.Rat).Sub(a, b).Float64()
	return verdict(math.Abs(diff) <= r.Close)
}

// closeBy is Same for values without symbols that are close enough.
func (r *comparison) closeBy(a, b *Expr) Verdict {
	if r.Close == 0 || a.symbolic() || b.symbolic() {
		return Unknown
	}
	x, y := a.at(0), b.at(0)
	if usable(x) && usable(y) && cmplx.Abs(x-y) <= r.Close {
		return Same
	}
	return Unknown
}

// identical compares at points modulo a prime.
func identical(a, b *Expr) Verdict {
	for p := range uint64(3) {
		x, okX := a.exact(p + 1)
		y, okY := b.exact(p + 1)
		if !okX || !okY {
			return Unknown
		}
		if x != y {
			return Different
		}
	}
	return Same
}

// sampled compares in floating point.
func sampled(a, b *Expr) Verdict {
	same := 0
	for p := range points {
		x, y := a.at(p), b.at(p)
		if !usable(x) || !usable(y) {
			continue
		}
		switch near(x, y) {
		case -1:
			return Different
		case 1:
			same++
		}
	}
	if same >= points/2 {
		return Same
	}
	return Unknown
}
