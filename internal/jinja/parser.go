package jinja

import (
	"fmt"
	"slices"
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

func (p *parser) accept(k kind, text string) bool {
	if !p.is(k, text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) op(text string) bool   { return p.accept(tokOperator, text) }
func (p *parser) word(text string) bool { return p.accept(tokName, text) }

func (p *parser) fail(format string, args ...any) error {
	return &Error{Line: p.peek().line, Text: fmt.Sprintf(format, args...)}
}

// deeper goes one level in; the caller comes back by p.depth--.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxNodes {
		return p.fail("brackets and blocks of more than %d levels", maxNodes)
	}
	return nil
}

func (p *parser) want(k kind, text string) error {
	if p.accept(k, text) {
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
	return p.list(")", func() error {
		name, err := p.name()
		if err != nil {
			return err
		}
		var without expr
		if p.op("=") {
			without, err = p.expression()
		}
		m.params, m.defaults = append(m.params, name), append(m.defaults, without)
		return err
	})
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
		return nil, &Error{Line: line, Text: "there is no filter " + name}
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
