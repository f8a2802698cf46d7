package algebra

import (
	"math/big"
	"slices"
	"strings"
)

// parser reads tokens from left to right. Each bracket costs one level of depth.
type parser struct {
	tokens []token
	at     int
	depth  int
	bars   int // open |…|
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

// is reports whether a sign comes next.
func (p *parser) is(signs ...string) bool {
	t := p.peek()
	return t.kind == sign && slices.Contains(signs, t.text)
}

// isCommand reports whether a command comes next.
func (p *parser) isCommand(names ...string) bool {
	t := p.peek()
	return t.kind == command && slices.Contains(names, t.text)
}

// accept steps over a sign, if it comes next.
func (p *parser) accept(s string) bool {
	if p.is(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errTooDeep
	}
	return nil
}

// whole reads all of the text.
func (p *parser) whole() (*Expr, error) {
	for len(p.tokens) > 0 && p.tokens[len(p.tokens)-1].kind == sign && p.tokens[len(p.tokens)-1].text == "." {
		p.tokens = p.tokens[:len(p.tokens)-1]
	}
	args, err := p.commas()
	if err != nil {
		return nil, err
	}
	if p.peek().kind != end {
		return nil, errSyntax
	}
	return oneOf(args), nil
}

// oneOf is a list of several, or its only element.
func oneOf(args []*Expr) *Expr {
	if len(args) == 1 {
		return args[0]
	}
	return node(list, args...)
}

// commas reads relations with commas, semicolons, "and" or "or" between them.
func (p *parser) commas() ([]*Expr, error) {
	var args []*Expr
	for {
		e, err := p.relations()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if !p.separator() {
			return args, nil
		}
		for p.separator() { // ", and"
		}
	}
}

func (p *parser) separator() bool {
	for _, w := range []string{"and", "or"} {
		if p.spells(w) {
			p.at += len(w)
			return true
		}
	}
	return p.accept(",") || p.accept(";")
}

// spells reports whether the next letters are a word.
func (p *parser) spells(w string) bool {
	if p.at+len(w) > len(p.tokens) {
		return false
	}
	for i := range len(w) {
		if t := p.tokens[p.at+i]; t.kind != letter || t.text != w[i:i+1] {
			return false
		}
	}
	return true
}

// signOf are commands that compare.
var signOf = map[string]string{
	"le": "<=", "ge": ">=", "ne": "!=", "in": "=", "approx": "=", "to": "=", "equiv": "=", "sim": "=",
}

func (p *parser) comparison() string {
	t := p.peek()
	s := ""
	switch {
	case t.kind == sign && slices.Contains([]string{"=", "<", ">", "<=", ">=", "!="}, t.text):
		s = t.text
	case t.kind == command:
		s = signOf[t.text]
	}
	if s != "" {
		p.at++
	}
	return s
}

func (p *parser) relations() (*Expr, error) {
	first, err := p.sets()
	if err != nil {
		return nil, err
	}
	rel := node(relation, first)
	for s := p.comparison(); s != ""; s = p.comparison() {
		e, err := p.sets()
		if err != nil {
			return nil, err
		}
		rel.args, rel.signs = append(rel.args, e), append(rel.signs, s)
	}
	if len(rel.args) == 1 {
		return first, nil
	}
	return rel, nil
}

// sets reads unions; other operations on sets are functions of both.
func (p *parser) sets() (*Expr, error) {
	e, err := p.sums()
	for err == nil && p.isCommand("cup", "cap", "setminus") {
		name := p.peek().text
		p.at++
		var b *Expr
		if b, err = p.sums(); err != nil {
			break
		}
		switch {
		case name != "cup":
			e = call(name, e, b)
		case e.op == union:
			e.args = append(e.args, b)
		default:
			e = node(union, e, b)
		}
	}
	return e, err
}

func (p *parser) sums() (*Expr, error) {
	var terms []*Expr
	for first := true; ; first = false {
		minus, both := p.is("-"), p.isCommand("pm", "mp")
		switch {
		case minus || both || p.is("+"):
			p.at++
		case !first:
			if len(terms) == 1 {
				return terms[0], nil
			}
			return node(sum, terms...), nil
		}
		e, err := p.products()
		if err != nil {
			return nil, err
		}
		if minus {
			e = node(negative, e)
		}
		if both {
			e = node(either, e)
		}
		terms = append(terms, e)
	}
}

func (p *parser) products() (*Expr, error) {
	e, err := p.signed()
	for err == nil {
		var b *Expr
		switch {
		case p.is("*"):
			p.at++
			if b, err = p.signed(); err == nil {
				e = times(e, b)
			}
		case p.is("/", "÷", ":"):
			p.at++
			if b, err = p.signed(); err == nil {
				e = node(quotient, e, b)
			}
		case p.begins():
			mixed := e.op == number && !e.decimal && p.isCommand("frac")
			if b, err = p.powers(); err == nil {
				if mixed && b.op == quotient {
					e = node(sum, e, b) // one and a half
				} else {
					e = times(e, b)
				}
			}
		default:
			return e, nil
		}
	}
	return nil, err
}

func times(a, b *Expr) *Expr {
	if a.op == product {
		return node(product, append(slices.Clip(a.args), b)...)
	}
	return node(product, a, b)
}

// signed reads a factor that may have a sign of its own, as in 2*-3.
func (p *parser) signed() (*Expr, error) {
	minus := false
	for p.is("-", "+") {
		minus = minus != p.is("-")
		p.at++
	}
	e, err := p.powers()
	if err == nil && minus {
		e = node(negative, e)
	}
	return e, err
}

// begins reports whether a factor comes next, without a sign of multiplication.
func (p *parser) begins() bool {
	t := p.peek()
	switch t.kind {
	case digits, text:
		return true
	case letter:
		return !p.spells("and") && !p.spells("or")
	case command:
		_, compares := signOf[t.text]
		return !compares && !slices.Contains(
			[]string{"cup", "cap", "setminus", "pm", "mp", "end", "rfloor", "rceil", "rangle", "bmod", "pmod"}, t.text)
	case sign:
		return t.text == "(" || t.text == "[" || t.text == `\{` || t.text == "{" || t.text == "|" && p.bars == 0
	}
	return false
}

// powers reads a factor with what stands behind it: powers, indices, "!", "%".
func (p *parser) powers() (*Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.atom()
	for err == nil {
		switch {
		case p.accept("^"):
			e, err = p.exponent(e)
		case p.accept("_"):
			e, err = p.index(e)
		case p.accept("!"):
			e = call("factorial", e)
		case p.accept("%"), p.accept(`\%`):
			e = call("percent", e)
		case p.accept("'"):
			e = call("prime", e)
		default:
			return e, nil
		}
	}
	return nil, err
}

func (p *parser) exponent(base *Expr) (*Expr, error) {
	if p.isCommand("circ") {
		p.at++
		return base, nil
	}
	if p.is("{") && p.at+2 < len(p.tokens) && p.tokens[p.at+1].text == "circ" && p.tokens[p.at+2].text == "}" {
		p.at += 3
		return base, nil
	}
	e, err := p.argument()
	if err == nil && p.is("^") { // 2^3^4 is 2^(3^4)
		if err = p.enter(); err == nil {
			p.at++
			e, err = p.exponent(e)
			p.depth--
		}
	}
	if err != nil {
		return nil, err
	}
	return node(power, base, e), nil
}

// index reads what stands below a letter, and makes it part of its name. The base of a
// number is left out: AIPerf compares its digits.
func (p *parser) index(e *Expr) (*Expr, error) {
	below, err := p.argument()
	if err != nil || e.op == number {
		return e, err
	}
	if e.op != symbol && e.op != word {
		return nil, errSyntax
	}
	return &Expr{op: symbol, name: e.name + "_" + below.String()}, nil
}

// argument reads {…}, one digit, or one factor. Of a number without braces only the
// first digit belongs to a command, the whole to a power of people who type.
func (p *parser) argument() (*Expr, error) {
	if p.is("-", "+") {
		minus := p.is("-")
		p.at++
		e, err := p.argument()
		if err == nil && minus {
			e = node(negative, e)
		}
		return e, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	return p.atom()
}

// digit reads one digit of a number, as \frac12 means it, or an argument.
func (p *parser) digit() (*Expr, error) {
	t := p.peek()
	if t.kind != digits || len(t.text) == 1 || t.point {
		return p.argument()
	}
	rest := t.text[1:]
	v, _ := new(big.Rat).SetString(rest)
	p.tokens[p.at] = token{kind: digits, text: rest, value: v}
	return integer(int64(t.text[0] - '0')), nil
}

func (p *parser) atom() (*Expr, error) {
	t := p.peek()
	p.at++
	switch t.kind {
	case digits:
		if t.point || t.stop {
			if v, ok := p.repeating(t); ok {
				return num(v), nil
			}
		}
		return &Expr{op: number, value: t.value, decimal: t.point}, nil
	case letter:
		return p.letters(t)
	case text:
		return textExpr(t.text), nil
	case command:
		return p.command(t.text)
	case sign:
		return p.bracket(t.text)
	}
	return nil, errSyntax
}

// repeating reads the digits under a line that follow a decimal point, without end:
// 0.1\overline{6} is 1/6.
func (p *parser) repeating(t token) (*big.Rat, bool) {
	if !p.isCommand("overline", "bar") || p.at+3 >= len(p.tokens) {
		return nil, false
	}
	inside := p.tokens[p.at+2]
	if p.tokens[p.at+1].text != "{" || inside.kind != digits || inside.point || p.tokens[p.at+3].text != "}" {
		return nil, false
	}
	p.at += 4
	_, decimals, _ := strings.Cut(t.text, ".")
	ten := big.NewInt(10)
	nines := new(big.Int).Exp(ten, big.NewInt(int64(len(inside.text))), nil)
	nines.Sub(nines, big.NewInt(1))
	nines.Mul(nines, new(big.Int).Exp(ten, big.NewInt(int64(len(decimals))), nil))
	rest := new(big.Rat).SetFrac(inside.value.Num(), nines)
	return rest.Add(rest, t.value), true
}

// textExpr is a text as a word; a letter in parentheses is that letter.
func textExpr(s string) *Expr {
	return &Expr{op: word, name: strings.ToLower(strings.Trim(s, "() "))}
}

// spelled are functions and constants of people who type.
var spelled = []string{"sqrt", "sin", "cos", "tan", "log", "ln", "exp", "abs", "pi", "infty", "infinity", "oo"}

func (p *parser) letters(t token) (*Expr, error) {
	for _, w := range spelled {
		if p.at--; p.spells(w) {
			p.at += len(w)
			return p.command(w)
		}
		p.at++
	}
	switch t.text {
	case "e", "i":
		return &Expr{op: constant, name: t.text}, nil
	}
	return &Expr{op: symbol, name: strings.ToLower(t.text)}, nil
}

// closing is the bracket that ends one.
var closing = map[string][]string{"(": {")", "]"}, "[": {"]", ")"}, `\{`: {`\}`}, "{": {"}"}}

func (p *parser) bracket(open string) (*Expr, error) {
	if open == "|" {
		return p.bar()
	}
	closes, ok := closing[open]
	if !ok {
		return nil, errSyntax
	}
	bars := p.bars
	p.bars = 0
	defer func() { p.bars = bars }()
	if p.is(closes...) {
		p.at++
		return node(list), nil // the empty set
	}
	args, err := p.commas()
	if err != nil {
		return nil, err
	}
	for _, c := range closes {
		if p.accept(c) {
			return bracketed(open, c, args), nil
		}
	}
	return nil, errSyntax
}

func bracketed(open, closed string, args []*Expr) *Expr {
	switch {
	case open == "{":
		return oneOf(args)
	case open == `\{`:
		return node(list, args...)
	case len(args) == 1:
		return args[0]
	case len(args) == 2 && !isPoint(open, closed, args):
		return &Expr{op: interval, args: args, left: open == "(", right: closed == ")"}
	}
	return node(tuple, args...)
}

// isPoint reports whether a pair in parentheses cannot be an interval.
func isPoint(open, closed string, args []*Expr) bool {
	return open == "(" && closed == ")" && slices.ContainsFunc(args, func(e *Expr) bool {
		return e.op == relation || e.op == tuple || e.op == interval
	})
}

func (p *parser) bar() (*Expr, error) {
	p.bars++
	e, err := p.sums()
	p.bars--
	if err != nil {
		return nil, err
	}
	if !p.accept("|") && !p.accept(`\|`) {
		return nil, errSyntax
	}
	return call("abs", e), nil
}
