package algebra

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

// named are commands that stand for a constant.
var named = map[string]string{
	"pi": "pi", "infty": "infinity", "infinity": "infinity", "oo": "infinity", "imath": "i",
}

// ofOne are functions of one argument.
var ofOne = []string{
	"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "log", "lg",
	"exp", "abs", "det",
}

// greek are the letters that are symbols like any other.
const greek = " alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi varphi chi psi omega ell hbar prime star "

// commands are all that the parser knows beside other spellings, signs and texts. Those
// at the end are known, and are not read.
var commands = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(named)), ofOne, strings.Fields(greek), strings.Fields(`
		frac binom sqrt emptyset varnothing mathbb mathcal overline bar vec hat overrightarrow widehat boxed fbox begin end
		lfloor rfloor lceil rceil langle rangle max min gcd lcm cup cap setminus circ pm mp
		Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega
		hline ldots cdots dots bmod pmod mod int iint prod sum lim angle triangle perp parallel cong`)) {
		m[name] = true
	}
	return m
}()

// command reads what a command means, with its arguments.
func (p *parser) command(name string) (*Expr, error) {
	if c := named[name]; c != "" {
		return &Expr{op: constant, name: c}, nil
	}
	if slices.Contains(ofOne, name) {
		return p.function(name)
	}
	switch name {
	case "frac":
		return p.two(func(a, b *Expr) *Expr { return node(quotient, a, b) })
	case "binom":
		return p.two(func(a, b *Expr) *Expr { return call("binom", a, b) })
	case "sqrt":
		return p.root()
	case "emptyset", "varnothing":
		return node(list), nil
	case "mathbb", "mathcal":
		return p.letterOf(name)
	case "overline", "bar", "vec", "hat", "overrightarrow", "widehat":
		e, err := p.argument()
		if err != nil {
			return nil, err
		}
		return &Expr{op: symbol, name: name + " " + e.String()}, nil
	case "boxed", "fbox":
		return p.argument()
	case "begin":
		return p.environment()
	case "lfloor":
		return p.until("floor", "rfloor")
	case "lceil":
		return p.until("ceil", "rceil")
	case "langle":
		return p.angle()
	case "max", "min", "gcd", "lcm":
		e, err := p.argument()
		if err != nil {
			return nil, err
		}
		return call(name, e.args...), nil
	}
	if strings.Contains(greek, " "+strings.ToLower(name)+" ") {
		return &Expr{op: symbol, name: `\` + name}, nil
	}
	return nil, errSyntax // a sign that stands between two, or one that is not read
}

func (p *parser) two(make func(a, b *Expr) *Expr) (*Expr, error) {
	a, err := p.digit()
	if err != nil {
		return nil, err
	}
	b, err := p.digit()
	if err != nil {
		return nil, err
	}
	return make(a, b), nil
}

func (p *parser) root() (*Expr, error) {
	degree := integer(2)
	if p.accept("[") {
		var err error
		if degree, err = p.sums(); err != nil {
			return nil, err
		}
		if !p.accept("]") {
			return nil, errSyntax
		}
	}
	e, err := p.digit()
	if err != nil {
		return nil, err
	}
	return node(power, e, node(quotient, integer(1), degree)), nil
}

// letterOf reads the letter of a set of numbers, such as \mathbb{R}.
func (p *parser) letterOf(name string) (*Expr, error) {
	e, err := p.argument()
	if err != nil {
		return nil, err
	}
	return &Expr{op: word, name: name + " " + e.String()}, nil
}

// function reads sin x, sin^2 x, log_2 8, f(a).
func (p *parser) function(name string) (*Expr, error) {
	var exponent, base *Expr
	var err error
	for err == nil && p.is("^", "_") {
		if p.accept("^") {
			exponent, err = p.argument()
		} else if p.accept("_") {
			base, err = p.digit()
		}
	}
	if err != nil {
		return nil, err
	}
	var of *Expr
	if p.is("(", "[", "{", "|") {
		of, err = p.argument()
	} else {
		of, err = p.close()
	}
	if err != nil {
		return nil, err
	}
	e := call(name, of)
	if base != nil {
		e = node(quotient, call("ln", of), call("ln", base))
	}
	if exponent == nil {
		return e, nil
	}
	if exponent.op == negative && exponent.args[0].op == number { // sin^{-1}
		return call("arc"+name, of), nil
	}
	return node(power, e, exponent), nil
}

// close reads what belongs to a function without brackets: factors up to a sign or
// the next function.
func (p *parser) close() (*Expr, error) {
	minus := p.accept("-")
	e, err := p.powers()
	for err == nil && p.begins() && !p.is("(", "[", "|") && !p.isCommand(ofOne...) {
		var b *Expr
		if b, err = p.powers(); err == nil {
			e = times(e, b)
		}
	}
	if err == nil && minus {
		e = node(negative, e)
	}
	return e, err
}

func (p *parser) until(name, last string) (*Expr, error) {
	e, err := p.sums()
	if err != nil {
		return nil, err
	}
	if !p.isCommand(last) {
		return nil, errSyntax
	}
	p.at++
	return call(name, e), nil
}

func (p *parser) angle() (*Expr, error) {
	args, err := p.commas()
	if err != nil {
		return nil, err
	}
	if !p.isCommand("rangle") {
		return nil, errSyntax
	}
	p.at++
	return node(tuple, args...), nil
}

// environment reads a matrix.
func (p *parser) environment() (*Expr, error) {
	name := p.braced()
	if !strings.HasSuffix(name, "matrix") && name != "array" {
		return nil, errSyntax
	}
	if name == "array" {
		p.braced() // its columns
	}
	m := node(matrix)
	width := 0
	for {
		e, err := p.relations()
		if err != nil {
			return nil, err
		}
		m.args = append(m.args, e)
		width++
		switch {
		case p.accept("&"):
			continue
		case p.accept(`\\`) && !p.isCommand("end"):
			if !m.fits(width) {
				return nil, errSyntax
			}
			width = 0
			continue
		}
		if !m.fits(width) || !p.isCommand("end") {
			return nil, errSyntax
		}
		p.at++
		p.braced()
		return m, nil
	}
}

// fits takes a row's width as that of the matrix, or compares it.
func (e *Expr) fits(width int) bool {
	if e.columns == 0 {
		e.columns = width
	}
	return e.columns == width
}

// braced is the text of {…}, as its letters say.
func (p *parser) braced() string {
	if !p.accept("{") {
		return ""
	}
	var b strings.Builder
	for p.peek().kind != end && !p.accept("}") {
		b.WriteString(p.peek().text)
		p.at++
	}
	return b.String()
}

// hundredth is what a percent sign multiplies with.
var hundredth = big.NewRat(1, 100)
