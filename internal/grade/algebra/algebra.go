// Package algebra decides whether two mathematical answers are equal. In go texts in
// LaTeX or as people type, out comes Same, Different, or Unknown: numbers, expressions,
// lists, sets, intervals, matrices, equations.
//
// Nothing is simplified. Two expressions without roots and functions are compared
// exactly, at random points modulo a large prime, where numbers cannot grow; others
// in floating point, at several points. So the work is bounded by the length of the
// text, whatever stands in it: 10^{10^{10}} takes as long as 2^3. What neither can
// decide is Unknown.
package algebra

import (
	"errors"
	"math/big"
	"strconv"
)

// Verdict is what a comparison says.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota
	Same
	Different
)

// The bounds of what is read.
const (
	maxText   = 4 << 10 // bytes
	maxDepth  = 100     // of brackets in each other
	maxDigits = 1000    // of one number
)

// errTooLong, errTooDeep and errSyntax are why a text is not read.
var (
	errTooLong = errors.New("too long")
	errTooDeep = errors.New("nests too deep")
	errSyntax  = errors.New("not an expression")
)

// op is what a node does with its arguments.
type op uint8

const (
	number   op = iota
	symbol      // of one letter, with an index maybe
	word        // a text
	constant    // pi, e, i, infinity
	sum
	product
	quotient
	negative
	power
	function
	list     // a, b: in any order
	tuple    // (a, b, c): in this order
	interval // (a, b], with open ends
	union
	matrix
	relation // a < b = c
	either   // a ± b
)

// Expr is what a text says. It does not change.
type Expr struct {
	op      op
	name    string // of symbols, words, constants, functions; the number's text is left out
	value   *big.Rat
	decimal bool // the number was written with a decimal point
	args    []*Expr
	signs   []string // of a relation, between its arguments
	left    bool     // of an interval: open on the left
	right   bool
	columns int // of a matrix
}

// Parse reads a text.
func Parse(text string) (*Expr, error) {
	if len(text) > maxText {
		return nil, errTooLong
	}
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	e, err := p.whole()
	if err != nil {
		return nil, err
	}
	return e, nil
}

// List is several expressions in any order; those of lists among them are taken in.
func List(of ...*Expr) *Expr {
	l := node(list)
	for _, e := range of {
		if e.op == list {
			l.args = append(l.args, e.args...)
		} else {
			l.args = append(l.args, e)
		}
	}
	return l
}

// Percent is a hundredth of an expression.
func Percent(e *Expr) *Expr { return call("percent", e) }

func num(v *big.Rat) *Expr { return &Expr{op: number, value: v} }

func integer(n int64) *Expr { return num(new(big.Rat).SetInt64(n)) }

func call(name string, args ...*Expr) *Expr { return &Expr{op: function, name: name, args: args} }

func node(o op, args ...*Expr) *Expr { return &Expr{op: o, args: args} }

// String is one form of the expression, equal for expressions that were read as the
// same.
func (e *Expr) String() string { return string(e.write(nil)) }

func (e *Expr) write(b []byte) []byte {
	switch e.op {
	case number:
		return append(b, e.value.RatString()...)
	case symbol, word, constant:
		return append(b, e.name...)
	}
	b = append(append(b, "....+*/-^f{(iU[<~"[e.op]), e.name...)
	if e.op == matrix {
		b = strconv.AppendInt(b, int64(e.columns), 10)
	}
	if e.left {
		b = append(b, ']')
	}
	if e.right {
		b = append(b, '[')
	}
	for i, a := range e.args {
		if i > 0 {
			b = append(b, ' ')
		}
		if i > 0 && i <= len(e.signs) {
			b = append(b, e.signs[i-1]...)
		}
		b = a.write(append(b, '('))
		b = append(b, ')')
	}
	return b
}
