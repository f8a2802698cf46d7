package jinja

import (
	"slices"
	"strconv"
	"strings"
)

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

// ended reports whether a list of expressions is over.
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
			return nil, &Error{Line: t.line, Text: t.text + " is not a number of 64 bits"}
		}
		return constant{n}, nil
	case tokFloat:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, &Error{Line: t.line, Text: t.text + " is not a number"}
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
	return nil, &Error{Line: t.line, Text: "want a value, not " + t.shown()}
}

// list reads items with commas between them up to a closing bracket, which may
// stand behind a comma. The opening one is gone already.
func (p *parser) list(end string, item func() error) error {
	for first := true; !p.op(end); first = false {
		if !first {
			if err := p.want(tokOperator, ","); err != nil {
				return err
			}
			if p.op(end) {
				break
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) elements(end string) (list []expr, err error) {
	err = p.list(end, func() error {
		e, err := p.expression()
		list = append(list, e)
		return err
	})
	return list, err
}

func (p *parser) dict(line int) (expr, error) {
	node := &dictNode{line: line}
	err := p.list("}", func() error {
		k, err := p.expression()
		if err == nil {
			err = p.want(tokOperator, ":")
		}
		if err != nil {
			return err
		}
		v, err := p.expression()
		node.keys, node.values = append(node.keys, k), append(node.values, v)
		return err
	})
	return node, err
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
					return nil, &Error{Line: line, Text: t.text + " is no index"}
				}
				e = &item{line, e, constant{n}}
			default:
				return nil, &Error{Line: line, Text: "want a name behind the dot, not " + t.shown()}
			}
		case p.op("["):
			var err error
			if e, err = p.subscript(e, line); err != nil {
				return nil, err
			}
		case p.op("("):
			var err error
			if e, err = p.call(e, line); err != nil {
				return nil, err
			}
		default:
			return e, nil
		}
	}
}

// call reads the arguments that e is called with, the "(" gone already.
func (p *parser) call(e expr, line int) (expr, error) {
	args, err := p.arguments()
	return &callNode{line, e, args}, err
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
		return nil, &Error{Line: line, Text: "want an index in []"}
	}
	return &item{line, e, parts[0]}, nil
}

// arguments reads what a call is given, its ( gone already.
func (p *parser) arguments() (*arguments, error) {
	a := &arguments{}
	return a, p.list(")", func() error { return p.argument(a) })
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
			var err error
			if e, err = p.call(e, line); err != nil {
				return nil, err
			}
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
		return nil, &Error{Line: line, Text: "there is no test " + name}
	}
	node.name = name
	switch t := p.peek(); {
	case p.op("("):
		node.args, err = p.arguments()
	case t.kind == tokName && !slices.Contains(afterTest, t.text),
		t.kind == tokText, t.kind == tokInteger, t.kind == tokFloat,
		t.kind == tokOperator && strings.Contains("([{", t.text):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		node.args.list = []expr{arg}
	}
	return node, err
}
