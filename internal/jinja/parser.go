package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parser makes nodes of tokens, by the grammar of jinja2/parser.py.
type parser struct {
	tokens  []token
	at      int
	loops   int // loops around this place, for break and continue
	depth   int // brackets, blocks and signs around it
	dialect *dialect
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) is(k kind, text string) bool { return p.peek().kind == k && p.peek().text == text }

func (p *parser) take(k kind, text string) bool {
	if !p.is(k, text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) op(text string) bool   { return p.take(tokOperator, text) }
func (p *parser) word(text string) bool { return p.take(tokName, text) }

func (p *parser) fail(format string, args ...any) error {
	return &Error{p.peek().line, fmt.Sprintf(format, args...), ""}
}

// deeper goes one level in; the caller comes back by p.depth--.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxNodes {
		return p.fail("brackets and blocks of more than %d levels", maxNodes)
	}
	return nil
}

func (p *parser) want(k kind, text string) error {
	if p.take(k, text) {
		return nil
	}
	shown := token{k, text, 0}.shown()
	return p.fail("want %s, not %s", shown, p.peek().shown())
}

func (p *parser) name() (string, error) {
	if t := p.peek(); t.kind != tokName {
		return "", p.fail("want a name, not %s", t.shown())
	}
	return p.next().text, nil
}

// template is the whole text.
func (p *parser) template() ([]statement, error) {
	body, err := p.statements()
	if err == nil && p.peek().kind != tokEnd {
		err = p.unexpected()
	}
	return body, err
}

// unexpected is a block's word that stands where it has no meaning.
func (p *parser) unexpected() error {
	word := p.peek()
	switch word.text {
	case "include", "import", "from", "extends":
		return p.fail("templates read no files")
	}
	return p.fail("{%% %s %%} has no meaning here", word.text)
}

// statements reads up to a block whose word is one of ends, which stays.
func (p *parser) statements(ends ...string) (body []statement, err error) {
	for {
		switch t := p.next(); t.kind {
		case tokEnd:
			if len(ends) > 0 {
				return nil, p.fail("a block without its {%% %s %%}", ends[len(ends)-1])
			}
			return body, nil
		case tokData:
			body = append(body, data(t.text))
		case tokOutput:
			e, err := p.tuple(true, nil)
			if err != nil {
				return nil, err
			}
			if err := p.want(tokOutputEnd, ""); err != nil {
				return nil, err
			}
			body = append(body, &output{t.line, e})
		case tokBlock:
			if word := p.peek(); word.kind == tokName && slices.Contains(ends, word.text) {
				return body, nil
			}
			s, err := p.block()
			if err != nil {
				return nil, err
			}
			body = append(body, s)
		default:
			return nil, p.fail("%s has no meaning here", t.shown())
		}
	}
}

// inner reads the statements of a block up to one of ends, and steps over the
// end's word.
func (p *parser) inner(ends ...string) (body []statement, end string, err error) {
	if err = p.want(tokBlockEnd, ""); err != nil {
		return nil, "", err
	}
	if body, err = p.statements(ends...); err != nil {
		return nil, "", err
	}
	return body, p.next().text, nil
}

// whole is inner with one end, whose tag is closed too.
func (p *parser) whole(end string) ([]statement, error) {
	body, _, err := p.inner(end)
	if err == nil {
		err = p.want(tokBlockEnd, "")
	}
	return body, err
}

// block reads a block, its {% gone already.
func (p *parser) block() (statement, error) {
	defer func() { p.depth-- }()
	if err := p.deeper(); err != nil {
		return nil, err
	}
	word := p.peek()
	if word.kind != tokName {
		return nil, p.fail("want a word like if, for or set, not %s", word.shown())
	}
	p.at++
	switch word.text {
	case "if":
		return p.ifBlock(word.line)
	case "for":
		return p.forBlock(word.line)
	case "set":
		return p.setBlock(word.line)
	case "with":
		return p.withBlock(word.line)
	case "macro":
		return p.macroBlock(word.line)
	case "call":
		return p.callBlock(word.line)
	case "filter":
		return p.filterBlock(word.line)
	case "generation": // transformers' mark around what the model says
		if p.dialect.chat {
			body, err := p.whole("endgeneration")
			return group(body), err
		}
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail("%s outside of a loop", word.text)
		}
		if word.text == "break" {
			return jump{errBreak}, p.want(tokBlockEnd, "")
		}
		return jump{errContinue}, p.want(tokBlockEnd, "")
	case "do":
		if !p.dialect.chat {
			e, err := p.tuple(true, nil)
			if err == nil {
				err = p.want(tokBlockEnd, "")
			}
			return &do{word.line, e}, err
		}
	}
	p.at--
	return nil, p.unexpected()
}

func (p *parser) ifBlock(line int) (statement, error) {
	node := &ifStatement{line: line}
	for {
		test, err := p.tuple(false, nil)
		if err != nil {
			return nil, err
		}
		body, end, err := p.inner("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		node.tests, node.bodies = append(node.tests, test), append(node.bodies, body)
		switch end {
		case "elif":
			continue
		case "else":
			if node.other, err = p.whole("endif"); err != nil {
				return nil, err
			}
			return node, nil
		}
		return node, p.want(tokBlockEnd, "")
	}
}

func (p *parser) forBlock(line int) (statement, error) {
	node := &forStatement{line: line}
	var err error
	if node.names, err = p.targets(); err != nil {
		return nil, err
	}
	if err = p.want(tokName, "in"); err != nil {
		return nil, err
	}
	if node.over, err = p.tuple(false, []string{"recursive"}); err != nil {
		return nil, err
	}
	if p.word("if") {
		if node.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	node.recursive = p.word("recursive")
	p.loops++
	body, end, err := p.inner("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	node.body = body
	if end == "else" {
		node.other, err = p.whole("endfor")
		return node, err
	}
	return node, p.want(tokBlockEnd, "")
}

// targets are the names a loop or set gives values to; more than one take
// an element apart.
func (p *parser) targets() (names []string, err error) {
	paren := p.op("(")
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if !p.op(",") || p.peek().kind != tokName || p.is(tokName, "in") {
			break
		}
	}
	if paren {
		err = p.want(tokOperator, ")")
	}
	return names, err
}

func (p *parser) setBlock(line int) (statement, error) {
	node := &setStatement{line: line}
	var err error
	if node.names, err = p.targets(); err != nil {
		return nil, err
	}
	if len(node.names) == 1 && p.op(".") {
		if node.member, err = p.name(); err != nil {
			return nil, err
		}
	}
	if p.op("=") {
		if node.value, err = p.tuple(true, nil); err == nil {
			err = p.want(tokBlockEnd, "")
		}
		return node, err
	}
	if node.filters, err = p.filters(nil); err == nil {
		node.body, err = p.whole("endset")
	}
	return node, err
}

func (p *parser) withBlock(line int) (statement, error) {
	node := &withStatement{line: line}
	for p.peek().kind != tokBlockEnd {
		if len(node.names) > 0 {
			if err := p.want(tokOperator, ","); err != nil {
				return nil, err
			}
		}
		name, err := p.name()
		if err == nil {
			err = p.want(tokOperator, "=")
		}
		if err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		node.names, node.values = append(node.names, name), append(node.values, v)
	}
	var err error
	node.body, err = p.whole("endwith")
	return node, err
}

// signature reads the parameters of a macro, in parentheses.
func (p *parser) signature(m *macroNode) error {
	if err := p.want(tokOperator, "("); err != nil {
		return err
	}
	for !p.op(")") {
		if len(m.params) > 0 {
			if err := p.want(tokOperator, ","); err != nil {
				return err
			}
			if p.op(")") {
				break
			}
		}
		name, err := p.name()
		if err != nil {
			return err
		}
		var without expr
		if p.op("=") {
			if without, err = p.expression(); err != nil {
				return err
			}
		}
		m.params, m.defaults = append(m.params, name), append(m.defaults, without)
	}
	return nil
}

// apart reads a body in which no loop around it can be left.
func (p *parser) apart(end string) ([]statement, error) {
	loops := p.loops
	p.loops = 0
	body, err := p.whole(end)
	p.loops = loops
	return body, err
}

func (p *parser) macroBlock(line int) (statement, error) {
	m := &macroNode{line: line}
	var err error
	if m.name, err = p.name(); err != nil {
		return nil, err
	}
	if err = p.signature(m); err == nil {
		m.body, err = p.apart("endmacro")
	}
	return m, err
}

func (p *parser) callBlock(line int) (statement, error) {
	m := &macroNode{line: line, name: "caller"}
	if p.is(tokOperator, "(") {
		if err := p.signature(m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	target, ok := e.(*callNode)
	if !ok {
		return nil, p.fail("{%% call %%} needs a call of a macro")
	}
	m.body, err = p.apart("endcall")
	return &callStatement{line, target, m}, err
}

func (p *parser) filterBlock(line int) (statement, error) {
	first, err := p.filterCall()
	if err != nil {
		return nil, err
	}
	node := &setStatement{line: line, print: true}
	if node.filters, err = p.filters([]*filterNode{first}); err == nil {
		node.body, err = p.whole("endfilter")
	}
	return node, err
}

// filters reads | name(…) as often as it stands there.
func (p *parser) filters(list []*filterNode) ([]*filterNode, error) {
	for p.op("|") {
		f, err := p.filterCall()
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// filterCall reads the name of a filter and its arguments.
func (p *parser) filterCall() (*filterNode, error) {
	line := p.peek().line
	name, err := p.dotted()
	if err != nil {
		return nil, err
	}
	node := &filterNode{line: line, name: name, f: p.dialect.filters[name]}
	if node.f == nil {
		return nil, &Error{line, "there is no filter " + name, ""}
	}
	if p.op("(") {
		node.args, err = p.arguments()
	}
	return node, err
}

func (p *parser) dotted() (string, error) {
	name, err := p.name()
	for err == nil && p.op(".") {
		var more string
		more, err = p.name()
		name += "." + more
	}
	return name, err
}

// tuple is one expression, or several with commas between them. Without
// choice, an "if" ends it.
func (p *parser) tuple(choice bool, ends []string) (expr, error) {
	var list []expr
	line := p.peek().line
	comma := false
	for !p.ended(ends) {
		var e expr
		var err error
		if choice {
			e, err = p.expression()
		} else {
			e, err = p.or()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if comma = p.op(","); !comma {
			break
		}
	}
	if len(list) == 1 && !comma {
		return list[0], nil
	}
	if len(list) == 0 {
		return nil, p.fail("want a value, not %s", p.peek().shown())
	}
	return &listNode{line, list, tupleList}, nil
}

// ended tells whether a list of expressions is over.
func (p *parser) ended(words []string) bool {
	t := p.peek()
	switch t.kind {
	case tokEnd, tokBlockEnd, tokOutputEnd:
		return true
	case tokOperator:
		return t.text == ")"
	}
	return t.kind == tokName && slices.Contains(words, t.text)
}

// expression is a choice: a if b else c.
func (p *parser) expression() (expr, error) {
	e, err := p.or()
	for err == nil && p.is(tokName, "if") {
		node := &choice{line: p.next().line, yes: e}
		if node.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.word("else") {
			if node.no, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = node
	}
	return e, err
}

func (p *parser) or() (expr, error) { return p.logic("or", p.and) }

func (p *parser) and() (expr, error) { return p.logic("and", p.not) }

func (p *parser) logic(word string, deeper func() (expr, error)) (expr, error) {
	left, err := deeper()
	for err == nil && p.is(tokName, word) {
		line := p.next().line
		var right expr
		if right, err = deeper(); err == nil {
			left = &logic{line, word == "and", left, right}
		}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	if p.is(tokName, "not") {
		line := p.next().line
		defer func() { p.depth-- }()
		if err := p.deeper(); err != nil {
			return nil, err
		}
		e, err := p.not()
		return &negation{line, e}, err
	}
	return p.compare()
}

var comparisons = []string{"==", "!=", "<=", ">=", "<", ">"}

func (p *parser) compare() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	node := &comparison{line: p.peek().line, first: first}
	for {
		op := ""
		switch t := p.peek(); {
		case t.kind == tokOperator && slices.Contains(comparisons, t.text), t.kind == tokName && t.text == "in":
			op = p.next().text
		case t.kind == tokName && t.text == "not" && p.tokens[p.at+1].kind == tokName && p.tokens[p.at+1].text == "in":
			p.at += 2
			op = "not in"
		}
		if op == "" {
			break
		}
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		node.ops, node.rest = append(node.ops, op), append(node.rest, right)
	}
	if len(node.ops) == 0 {
		return first, nil
	}
	return node, nil
}

func (p *parser) sum() (expr, error)     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() (expr, error)  { return p.binary(p.product, "~") }
func (p *parser) product() (expr, error) { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() (expr, error) {
	return p.binary(func() (expr, error) { return p.unary(true) }, "**")
}

// binary reads operands with any of ops between them, the left ones first.
func (p *parser) binary(deeper func() (expr, error), ops ...string) (expr, error) {
	left, err := deeper()
	for err == nil && p.peek().kind == tokOperator && slices.Contains(ops, p.peek().text) {
		op := p.next()
		var right expr
		if right, err = deeper(); err == nil {
			left = &binary{op.line, op.text, left, right}
		}
	}
	return left, err
}

func (p *parser) unary(filtered bool) (e expr, err error) {
	defer func() { p.depth-- }()
	if err := p.deeper(); err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind == tokOperator && (t.text == "-" || t.text == "+") {
		p.at++
		if e, err = p.unary(false); err == nil {
			e = &sign{t.line, t.text == "-", e}
		}
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if filtered && err == nil {
		e, err = p.filtered(e)
	}
	return e, err
}

// primary is a value, a name, or something in brackets.
func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return constant{true}, nil
		case "false", "False":
			return constant{false}, nil
		case "none", "None":
			return constant{nil}, nil
		}
		return &nameNode{t.line, t.text}, nil
	case tokText:
		text := t.text
		for p.peek().kind == tokText {
			text += p.next().text
		}
		return constant{text}, nil
	case tokInteger:
		n, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			n, err = strconv.ParseInt(t.text, 10, 64)
		}
		if err != nil {
			return nil, &Error{t.line, t.text + " is no number of 64 bits", ""}
		}
		return constant{n}, nil
	case tokFloat:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, &Error{t.line, t.text + " is no number", ""}
		}
		return constant{f}, nil
	case tokOperator:
		switch t.text {
		case "(":
			if p.op(")") {
				return &listNode{t.line, nil, tupleList}, nil
			}
			e, err := p.tuple(true, nil)
			if err == nil {
				err = p.want(tokOperator, ")")
			}
			return e, err
		case "[":
			list, err := p.elements("]")
			return &listNode{t.line, list, plainList}, err
		case "{":
			return p.dict(t.line)
		}
	}
	p.at = max(0, p.at-1)
	if t.kind == tokEnd {
		p.at = len(p.tokens) - 1
	}
	return nil, &Error{t.line, "want a value, not " + t.shown(), ""}
}

// elements reads expressions up to a closing bracket.
func (p *parser) elements(end string) (list []expr, err error) {
	for !p.op(end) {
		if len(list) > 0 {
			if err = p.want(tokOperator, ","); err != nil {
				return nil, err
			}
			if p.op(end) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func (p *parser) dict(line int) (expr, error) {
	node := &dictNode{line: line}
	for !p.op("}") {
		if len(node.keys) > 0 {
			if err := p.want(tokOperator, ","); err != nil {
				return nil, err
			}
			if p.op("}") {
				break
			}
		}
		k, err := p.expression()
		if err == nil {
			err = p.want(tokOperator, ":")
		}
		if err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		node.keys, node.values = append(node.keys, k), append(node.values, v)
	}
	return node, nil
}

// postfix reads .name, [index] and (arguments) behind a value.
func (p *parser) postfix(e expr) (expr, error) {
	for {
		line := p.peek().line
		switch {
		case p.op("."):
			t := p.next()
			switch t.kind {
			case tokName:
				e = &member{line, e, t.text}
			case tokInteger:
				n, err := strconv.ParseInt(t.text, 10, 64)
				if err != nil {
					return nil, &Error{line, t.text + " is no index", ""}
				}
				e = &item{line, e, constant{n}}
			default:
				return nil, &Error{line, "want a name behind the dot, not " + t.shown(), ""}
			}
		case p.op("["):
			var err error
			if e, err = p.subscript(e, line); err != nil {
				return nil, err
			}
		case p.op("("):
			args, err := p.arguments()
			if err != nil {
				return nil, err
			}
			e = &callNode{line, e, args}
		default:
			return e, nil
		}
	}
}

// subscript reads what stands in brackets: an index or a slice.
func (p *parser) subscript(e expr, line int) (expr, error) {
	var parts [3]expr
	n, sliced := 0, false
	for ; n < 3; n++ {
		if !p.is(tokOperator, ":") && !p.is(tokOperator, "]") {
			var err error
			if parts[n], err = p.expression(); err != nil {
				return nil, err
			}
		}
		if !p.op(":") {
			break
		}
		sliced = true
	}
	if err := p.want(tokOperator, "]"); err != nil {
		return nil, err
	}
	switch {
	case sliced:
		return &slice{line, e, parts}, nil
	case parts[0] == nil:
		return nil, &Error{line, "want an index in []", ""}
	}
	return &item{line, e, parts[0]}, nil
}

// arguments reads what a call is given, its ( gone already.
func (p *parser) arguments() (*arguments, error) {
	a := &arguments{}
	for first := true; !p.op(")"); first = false {
		if !first {
			if err := p.want(tokOperator, ","); err != nil {
				return nil, err
			}
			if p.op(")") {
				break
			}
		}
		if err := p.argument(a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (p *parser) argument(a *arguments) (err error) {
	switch {
	case p.op("**"):
		a.spreadNamed, err = p.expression()
	case p.op("*"):
		a.spread, err = p.expression()
	case p.peek().kind == tokName && p.tokens[p.at+1].kind == tokOperator && p.tokens[p.at+1].text == "=":
		name := p.next().text
		p.at++
		var v expr
		v, err = p.expression()
		a.names, a.named = append(a.names, name), append(a.named, v)
	default:
		if len(a.names) > 0 {
			return p.fail("an argument without a name behind one with a name")
		}
		var v expr
		v, err = p.expression()
		a.list = append(a.list, v)
	}
	return err
}

// filtered reads filters, tests and calls behind a value.
func (p *parser) filtered(e expr) (expr, error) {
	for {
		line := p.peek().line
		switch {
		case p.op("|"):
			f, err := p.filterCall()
			if err != nil {
				return nil, err
			}
			f.of = e
			e = f
		case p.word("is"):
			t, err := p.test(e, line)
			if err != nil {
				return nil, err
			}
			e = t
		case p.op("("):
			args, err := p.arguments()
			if err != nil {
				return nil, err
			}
			e = &callNode{line, e, args}
		default:
			return e, nil
		}
	}
}

// afterTest are the words behind a test that are no argument of it.
var afterTest = []string{"else", "or", "and", "if", "in", "not", "is", "recursive"}

// test reads a test, its "is" gone already. One argument may stand without
// parentheses.
func (p *parser) test(e expr, line int) (expr, error) {
	node := &testNode{line: line, of: e, not: p.word("not"), args: &arguments{}}
	name, err := p.dotted()
	if err != nil {
		if t := p.peek(); t.kind != tokOperator || !slices.Contains(comparisons, t.text) {
			return nil, err
		}
		name = p.next().text
	}
	if node.f = tests[name]; node.f == nil {
		return nil, &Error{line, "there is no test " + name, ""}
	}
	node.name = name
	switch t := p.peek(); {
	case p.op("("):
		node.args, err = p.arguments()
	case t.kind == tokName && !slices.Contains(afterTest, t.text),
		t.kind == tokText, t.kind == tokInteger, t.kind == tokFloat, t.kind == tokOperator && strings.Contains("([{", t.text):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		node.args.list = []expr{arg}
	}
	return node, err
}
