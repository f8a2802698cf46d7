package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/internal/diag"
)

// slip is a common mistake in the syntax of YAML: how a line with it looks, where the
// first group is the place, and what to do about it.
type slip struct {
	looks         *regexp.Regexp
	message, hint string
}

var slips = []slip{
	{regexp.MustCompile(`^\s*(\t)`), "a tab in the indentation", "indent with spaces"},
	{regexp.MustCompile(`[:,\[{]\s*(\{\{)`), "a template without quotes", `put it in quotes: "{{ … }}"`},
	{regexp.MustCompile(`[{,][^"']*:\s*(\$\{)`), "a variable within braces without quotes", `put it in quotes: "${…}"`},
	{regexp.MustCompile("(?::|-)\\s+([@`%])"), "a value cannot begin with this character", "put the value in quotes"},
	{regexp.MustCompile(`:\s+("[^"]*)$`), "the quote is not closed", "close it, or leave it out"},
	{regexp.MustCompile(`:\s+('[^']*)$`), "the quote is not closed", "close it, or leave it out"},
	{regexp.MustCompile(`^\s*(?:-\s+)?\w+(:)[^\s/:]\S*\s*$`), "no space after the colon", "such as model: demo"},
	{regexp.MustCompile(`^\s*(?:-\s+)?(\w+)\s+[^\s:#=]+\s*$`), "no colon after the key", "such as model: demo"},
	{regexp.MustCompile(`["}\]\w]\s*(//)`), "// does not start a comment here", "use # in YAML; JSON has no comments"},
	{regexp.MustCompile(`:\s*"[^"]*"\s+(")`), "no comma between two members", "write one before this"},
	{regexp.MustCompile(`:\s+[^"'\s#{\[:][^"'#{},:]*(:)\s`), "a second colon in a value", "put the value in quotes"},
	{regexp.MustCompile(`^[^{}]*(\{)[^}]*$`), "the brace is not closed", "close it with }"},
	{regexp.MustCompile(`^[^\[\]]*(\[)[^\]]*$`), "the bracket is not closed", "close it with ]"},
}

// value is a line that says a value behind its key.
var value = regexp.MustCompile(`^(\s*)[\w.-]+:\s+[^\s#|>&]`)

// slipNear is the first slip in the lines around one, counted from 1; nil without
// one. The parser notices some only further down.
func slipNear(name string, src []byte, line int) diag.Errors {
	lines := strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	for i := max(line-2, 0); i < min(line+2, len(lines)); i++ {
		text := lines[i]
		if strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		if i > 0 {
			before := value.FindStringSubmatch(lines[i-1])
			if indent := len(text) - len(strings.TrimLeft(text, " ")); before != nil && indent > len(before[1]) &&
				strings.Contains(text, ":") && !strings.ContainsAny(lines[i-1], `"'{[`) {
				return syntaxError(name, i, indent, "is indented deeper than the line above, which has a value",
					"indent both lines equally")
			}
		}
		for _, s := range slips {
			if at := s.looks.FindStringSubmatchIndex(text); at != nil {
				return syntaxError(name, i, at[2], s.message, s.hint)
			}
		}
	}
	return nil
}

// misplaced is the first line that begins in a column in which nothing is open, or
// deeper than a line which has its value; nil without one. The parser tells where the
// mapping begins that such a line breaks.
func misplaced(name string, src []byte) diag.Errors {
	open := []int{0}   // the columns in which mappings and lists are open, outermost first
	full := false      // the line above has its value
	text, flow := 0, 0 // the column that text of several lines is deeper than, plus 1; brackets that are open
	for i, line := range strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n") {
		said := strings.TrimLeft(line, " ")
		column := len(line) - len(said)
		switch {
		case said == "" || said[0] == '#' || text > 0 && column >= text:
			continue
		case flow > 0:
			flow += depth(said)
			continue
		}
		text = 0
		if top := open[len(open)-1]; column > top {
			if full {
				return syntaxError(name, i, column, "is indented deeper than the line above, which has a value",
					"indent both lines equally")
			}
			open = append(open, column)
		}
		deeper := column
		for len(open) > 1 && open[len(open)-1] > column {
			deeper, open = open[len(open)-1], open[:len(open)-1]
		}
		if top := open[len(open)-1]; top != column {
			return syntaxError(name, i, column, fmt.Sprintf("indented by %d, which fits no line above", column),
				fmt.Sprintf("indent it by %d or by %d", top, deeper))
		}
		for strings.HasPrefix(said, "- ") { // what follows is open in a column of its own
			rest := strings.TrimLeft(said[1:], " ")
			column += len(said) - len(rest)
			said = rest
			if key.MatchString(said) {
				open = append(open, column)
			}
		}
		full = value.MatchString(said)
		if multiline.MatchString(said) {
			text = column + 1
		}
		flow = max(depth(said), 0)
	}
	return nil
}

var (
	key       = regexp.MustCompile(`^("[^"]*"|'[^']*'|[\w.-]+):(\s|$)`)
	multiline = regexp.MustCompile(`[|>][-+\d]*\s*$`)
)

// depth is how many brackets of a line stay open, those in quotes left out.
func depth(line string) (n int) {
	var quote rune
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			n++
		case r == '}' || r == ']':
			n--
		}
	}
	return n
}

// slipInJSON is where a document in the form of JSON stops being one; nil for any
// other document. YAML takes JSON, but its parser tells where the outermost brace is.
func slipInJSON(name string, src []byte) diag.Errors {
	if !looksJSON.Match(src) {
		return nil
	}
	var broken *json.SyntaxError
	if err := json.Unmarshal(src, new(any)); !errors.As(err, &broken) {
		return nil
	}
	at := min(int(broken.Offset), len(src)) // behind what it stumbled over
	if at > 0 && (at < len(src) || !errors.Is(json.NewDecoder(bytes.NewReader(src)).Decode(new(any)),
		io.ErrUnexpectedEOF)) {
		at--
	}
	line, column := bytes.Count(src[:at], []byte{'\n'}), at-bytes.LastIndexByte(src[:at], '\n')-1
	var message, hint string
	switch rest := string(src[at:]); {
	case rest == "":
		message, hint = "the document ends before its last brace", "close the bracket or quote that is open"
	case strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "#"):
		message, hint = "JSON has no comments", "take it out, or write YAML (#) or CUE (//)"
	case strings.Contains(broken.Error(), "after top-level value"):
		message, hint = "text after the end of the document", "take it out"
	case strings.HasPrefix(rest, `"`) && strings.Contains(broken.Error(), "after object key:value pair"):
		message, hint = "no comma between two members", "write one before this"
	default: // YAML takes words without quotes
		return nil
	}
	return syntaxError(name, line, column, message, hint)
}

// looksJSON is how a document begins that is meant as JSON: a brace, comments perhaps,
// and a key in quotes.
var looksJSON = regexp.MustCompile(`^\s*\{\s*(//.*\s*|/\*(?s:.*?)\*/\s*)*"`)

func syntaxError(name string, line, column int, message, hint string) diag.Errors {
	return Mistake(Origin{Where: fmt.Sprintf("%s:%d:%d", name, line+1, column+1)}, "", message, hint)
}

var (
	yamlLine   = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// yamlErrors is a mistake in the syntax, where it is and what to do about it as far as
// that can be told.
func yamlErrors(name string, src []byte, err error) diag.Errors {
	msg := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	line := 1
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits
		msg = m[2]
	}
	if m := yamlAnchor.FindStringSubmatch(msg); m != nil {
		if i := strings.Index(string(src), "*"+m[1]); i >= 0 {
			before := string(src[:i])
			return syntaxError(name, strings.Count(before, "\n"), i-strings.LastIndexByte(before, '\n')-1,
				"no anchor &"+m[1]+" is defined", "define it: &"+m[1]+" before the value")
		}
	}
	if i := bytes.IndexFunc(src, isUnreadable); i >= 0 && strings.Contains(msg, "control characters") {
		return syntaxError(name, bytes.Count(src[:i], []byte{'\n'}), i-bytes.LastIndexByte(src[:i], '\n')-1,
			fmt.Sprintf("the control character %U", bytes.Runes(src[i:min(i+4, len(src))])[0]),
			`take it out, or write it as \x.. in double quotes`)
	}
	if strings.Contains(msg, "max depth") {
		return Mistake(Origin{Where: name}, "", msg, fmt.Sprintf("an experiment nests at most %d levels", maxDepth))
	}
	if found := slipInJSON(name, src); found != nil {
		return found
	}
	if found := slipNear(name, src, line); found != nil {
		return found
	}
	if found := misplaced(name, src); found != nil {
		return found
	}
	return syntaxError(name, line-1, 0, msg, "look at this line and the one above: indentation, colons, quotes, braces")
}

// isUnreadable reports whether YAML takes no such character.
func isUnreadable(r rune) bool {
	return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r)
}

// typographic are quotes of written language, which are no quotes in YAML.
var typographic = []string{"“", "”", "„", "‘", "’", "«"}

// Doubts are remarks about values that mean something else to most people: numbers
// that begin with 0, which AIPerf's reader takes for octal, and so does this program,
// and text in the quotes of written language.
func Doubts(root *Node) (notes []string) {
	root.Leaves("", func(path string, n *Node) {
		switch v := n.Value.(type) {
		case int64:
			if n.Origin.Source == ByFile && octal.MatchString(n.Origin.Text) {
				notes = append(notes, fmt.Sprintf("%s: %s: %s is octal, %d; write %[4]d, or leave the 0 out",
					n.Origin.Where, path, n.Origin.Text, v))
			}
		case string:
			if slices.ContainsFunc(typographic, func(q string) bool { return strings.HasPrefix(v, q) }) {
				notes = append(notes, fmt.Sprintf("%s: %s: the quotes of %s are part of the text; write plain ones: \"",
					n.Origin.Where, path, Short(v)))
			}
		}
	})
	return notes
}

// octal is a whole number that YAML 1.1 and 1.2 read differently.
var octal = regexp.MustCompile(`^[-+]?0[0-7_]+$`)
