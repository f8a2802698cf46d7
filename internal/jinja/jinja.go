// Package jinja runs templates in the language of Jinja2. In goes a text with
// {{ … }} and {% … %}, out comes a template that turns named values into a text.
//
// It is an interpreter of its own because a chat template must render exactly
// what a server renders: values follow Python's rules (None and undefined are
// two things, "a" + 1 is a mistake, members keep their order), and white space
// is trimmed as Jinja2 trims it. Of 1,215 renderings of published chat
// templates, gonja made 308 others without a word and overflowed the stack on
// some; such a template must not be able to end the program.
//
// Templates read no files and change nothing outside themselves. Steps, depth
// and output are bounded, so every template ends. Steps: lexer.go cuts the text
// into tokens, parser.go makes nodes of them, nodes.go and statements.go run
// them over the values of values.go.
package jinja

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Limits of one run.
const (
	maxText   = 1 << 20  // bytes of a template
	maxNodes  = 400      // brackets, blocks and signs inside each other
	maxSteps  = 4 << 20  // nodes evaluated and elements walked over
	maxDepth  = 120      // macros and loops inside each other, as they run
	maxOutput = 64 << 20 // bytes, of the output or of one text
	maxRange  = 100_000  // numbers of one range(), as in Jinja2's sandbox
)

// Error is what is wrong with a template, or with what it was given.
type Error struct {
	Line      int    // of the template, from 1
	Text      string // what is wrong
	Undefined string // the name that there is not, where that is it
	Cause     error  // what says more of it, such as a hint; nil for none
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// dialect is how a family of templates is read.
type dialect struct {
	chat    bool // as transformers reads them: blocks are trimmed, and there is {% generation %}
	strict  bool // what is undefined may only be asked for with "is defined" and default()
	filters map[string]filter
	globals map[string]any
}

// Template is a parsed text. It is safe for concurrent use.
type Template struct {
	dialect *dialect
	body    []statement
}

var strict = &dialect{strict: true, filters: filters}

// Parse reads a template of an experiment or of a request's body: an undefined
// name is a mistake.
func Parse(text string) (*Template, error) { return strict.parse(text) }

// ParseChat reads a chat template as Hugging Face's transformers does: blocks
// are trimmed, what is undefined is empty, tojson escapes nothing, and there
// are raise_exception and strftime_now; now is the time they see.
func ParseChat(text string, now func() time.Time) (*Template, error) {
	d := &dialect{
		chat:    true,
		filters: maps.Clone(filters),
		globals: map[string]any{
			"raise_exception": function(func(c *call) (any, error) {
				s, err := c.text(0, "message", "")
				if err == nil {
					err = errors.New(s)
				}
				return nil, err
			}),
			"strftime_now": function(func(c *call) (any, error) {
				layout, err := c.text(0, "format", "")
				if err != nil {
					return nil, err
				}
				return strftime(now(), layout)
			}),
		},
	}
	d.filters["tojson"] = chatJSON
	return d.parse(text)
}

func (d *dialect) parse(text string) (*Template, error) {
	if len(text) > maxText {
		return nil, &Error{Line: 1, Text: fmt.Sprintf("a template of more than %d MiB", maxText>>20)}
	}
	tokens, err := lex(text, d.chat)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, dialect: d}
	body, err := p.template()
	if err != nil {
		return nil, err
	}
	return &Template{d, body}, nil
}

// Run is the text that the template makes of values: plain Go values, lists,
// maps with names as keys, and what FromJSON makes.
func (t *Template) Run(values map[string]any) (string, error) {
	var out strings.Builder
	s := &state{dialect: t.dialect, out: &out}
	top := &scope{vars: map[string]any{}, state: s}
	for name, v := range values {
		got, err := import_(v)
		if err != nil {
			return "", &Error{Line: 1, Text: name + ": " + err.Error()}
		}
		top.vars[name] = got
	}
	if err := run(t.body, top); err != nil {
		return "", err
	}
	return out.String(), nil
}

// state is one run of a template.
type state struct {
	dialect *dialect
	out     *strings.Builder
	steps   int
	depth   int
}

// step counts work, so that no template runs for ever.
func (s *state) step(n int) error {
	if s.steps += n; s.steps > maxSteps {
		return errors.New("the template does not end: does it hold a loop?")
	}
	return nil
}

func (s *state) write(text string) error {
	if s.out.Len()+len(text) > maxOutput {
		return errTooLong
	}
	s.out.WriteString(text)
	return nil
}

var errTooLong = fmt.Errorf("the template makes more than %d MiB of text", maxOutput>>20)

// enter goes one level deeper; leave comes back.
func (s *state) enter() error {
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("macros and loops go more than %d levels deep", maxDepth)
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// capture is what f writes.
func (s *state) capture(f func() error) (string, error) {
	outer := s.out
	var inner strings.Builder
	s.out = &inner
	err := f()
	s.out = outer
	return inner.String(), err
}

// scope is the names of a template, a loop's round, a macro or a with.
type scope struct {
	vars  map[string]any
	outer *scope
	state *state
}

func (s *scope) inside() *scope { return &scope{vars: map[string]any{}, outer: s, state: s.state} }

// get is the value of a name: the innermost one, then what every template has.
func (s *scope) get(name string) any {
	for at := s; at != nil; at = at.outer {
		if v, ok := at.vars[name]; ok {
			return v
		}
	}
	if v, ok := s.state.dialect.globals[name]; ok {
		return v
	}
	if v, ok := globals[name]; ok {
		return v
	}
	return s.state.undefined(name, fmt.Sprintf("%s is not defined", name))
}

func (s *state) undefined(name, text string) undefined {
	return undefined{name: name, text: text, strict: s.dialect.strict}
}

// at gives a mistake its line, unless it has one already.
func at(line int, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	var missing *undefinedError
	if errors.As(err, &missing) {
		return &Error{Line: line, Text: missing.Error(), Undefined: missing.name}
	}
	return &Error{Line: line, Text: err.Error(), Cause: err}
}
