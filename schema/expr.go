package schema

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"aiperf.dev/aiperf/internal/suggest"
)

// Program is a compiled expression of derive, where or gates.
type Program struct {
	src     string
	program *vm.Program
}

// CompileExpr compiles src against names, a sample of the values it will see:
// their types are checked here, before anything runs. There is no clock and
// no environment. With wantBool the result must be true or false.
func CompileExpr(src string, names map[string]any, wantBool bool) (Program, error) {
	p, err := compileExpr(src, names, wantBool)
	if err != nil {
		return Program{}, exprError(err, names)
	}
	return Program{src: src, program: p}, nil
}

// wholePart is int(x). The library's own makes a large negative number of what
// is not finite, which nobody would notice.
func wholePart(args ...any) (any, error) {
	var f float64
	switch v := args[0].(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		f = v
	case string:
		i, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return nil, fmt.Errorf("int(%q): not a whole number", v)
		}
		return i, nil
	default:
		return nil, fmt.Errorf("int(%v): not a number", v)
	}
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return nil, fmt.Errorf("int(%v): not a finite number", f)
	}
	return int(f), nil
}

// checkExpr says what is wrong with src whatever the values of its names are.
func checkExpr(src string, names []string, wantBool bool) error {
	env, known := types.Map{}, map[string]any{}
	for _, name := range names {
		env[name], known[name] = types.Any, nil
	}
	if _, err := compileExpr(src, env, wantBool); err != nil {
		return exprError(err, known)
	}
	return nil
}

func compileExpr(src string, env any, wantBool bool) (*vm.Program, error) {
	if at := comment.FindStringSubmatch(src); at != nil {
		return nil, &Error{
			Message: at[1] + " begins a comment, which would hide the rest",
			Hint:    "int(a / b) divides to a whole number",
		}
	}
	opts := []expr.Option{
		expr.Env(env), expr.DisableBuiltin("now"), expr.MaxNodes(1000),
		expr.Function("int", wholePart, new(func(any) int)),
	}
	if wantBool {
		opts = append(opts, expr.AsBool())
	}
	return expr.Compile(src, opts...)
}

// Run evaluates the program. A result that is not finite is an error, since
// nothing downstream could use it.
func (p Program) Run(env map[string]any) (any, error) {
	out, err := expr.Run(p.program, env)
	if err != nil {
		return nil, exprError(err, env)
	}
	if f, ok := out.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%q is %v, not a finite number", p.src, f)
	}
	return oneNumber(out), nil
}

// oneNumber gives whole numbers one Go type, so that 2*8 and 16.0 are the same
// value of a field.
func oneNumber(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}

// comment is the first begin of a comment outside texts. The library skips comments,
// so that "concurrency//0" would be concurrency.
var comment = regexp.MustCompile("^(?:[^\"'`/]|/[^/*\"'`]|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`)*(//|/\\*)")

var unknownName = regexp.MustCompile(`unknown name (\S+)`)

// slips are the library's messages on what people write in other languages, and what
// to write here.
var slips = []struct {
	said *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`^unexpected token Operator\("="\)`), "write == for equal, <= for at most"},
	{regexp.MustCompile(`^unexpected token Operator\(">"\)`), "write != for unequal, >= for at least"},
	{
		regexp.MustCompile(`^bad number syntax: "[0-9.]+[a-zA-Z]|^unexpected token (Identifier\("(ns|us|ms|s|sec|seconds|min|m|h|percent|tokens)"\)|Operator\("%"\))`),
		"write the number alone: each metric has its unit, times of a request are in ms (aiperf explain metric NAME)",
	},
}

// SlipHint is the hint for a message of the expression library on a common slip, "" for
// any other message.
func SlipHint(msg string) string {
	for _, s := range slips {
		if s.said.MatchString(msg) {
			return s.hint
		}
	}
	return ""
}

// exprError is the library's message in one line, with the nearest name.
func exprError(err error, names map[string]any) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var at *file.Error
	msg := err.Error()
	if errors.As(err, &at) {
		msg = at.Message
	}
	msg = strings.Join(strings.Fields(msg), " ")
	if strings.Contains(msg, "integer divide by zero") { // Go's words
		return &Error{Message: "division by zero"}
	}
	if m := unknownName.FindStringSubmatch(msg); m != nil {
		return &Error{Message: "unknown name " + m[1], Hint: suggest.Hint(m[1], slices.Collect(maps.Keys(names)))}
	}
	return &Error{Message: msg, Hint: SlipHint(msg)}
}
