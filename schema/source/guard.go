package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
)

// Limits a file must keep before anything evaluates it. They are cheap to
// check and bound every later step.
const (
	MaxBytes  = 4 << 20
	maxDepth  = 64
	maxSyntax = 256     // CUE: operators, calls and braces within each other
	maxNodes  = 200_000 // after aliases are expanded
	maxLoops  = 4       // for clauses in one CUE file
)

// ReadFile is the text of an experiment, within the limits.
func ReadFile(name string) ([]byte, diag.Errors) {
	at := Origin{Where: name}
	if name == "-" {
		return nil, diag.Errors{{Place: "standard input", Message: "is not read", Hint: "name a file"}}
	}
	info, err := os.Stat(name)
	switch {
	case os.IsNotExist(err):
		return nil, Mistake(at, "", "no such file", "aiperf config init writes one to start from")
	case err != nil:
		return nil, Mistake(at, "", Reason(err), "")
	case info.IsDir():
		return nil, Mistake(at, "", "is a directory, not an experiment file", "name the file in it")
	case !info.Mode().IsRegular():
		return nil, Mistake(at, "", "is not a regular file", "write the experiment into a file and name that")
	case info.Size() > MaxBytes:
		return nil, Mistake(at, "", fmt.Sprintf("larger than %d MB", MaxBytes>>20),
			"put records into a file of their own and name it in dataset.path")
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, Mistake(at, "", Reason(err), "")
	}
	if !utf8.Valid(src) {
		return nil, Mistake(Origin{Where: name + firstOdd(src)}, "", "is not UTF-8 text", "save it as UTF-8")
	}
	return src, nil
}

// firstOdd is the line and column of the first byte that is no UTF-8.
func firstOdd(src []byte) string {
	at := 0
	for at < len(src) {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line := bytes.Count(src[:at], []byte{'\n'}) + 1
	return fmt.Sprintf(":%d:%d", line, at-bytes.LastIndexByte(src[:at], '\n'))
}

// Reason is an error of the operating system without the name of the call and
// the file, which the place says already.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// guardYAML counts values as if aliases were expanded, without expanding them.
func guardYAML(name string, root *yaml.Node) diag.Errors {
	g := yamlGuard{name: name, sizes: map[*yaml.Node]int{}, open: map[*yaml.Node]bool{}}
	_, bad := g.count(root, 0)
	return bad
}

type yamlGuard struct {
	name  string
	sizes map[*yaml.Node]int
	open  map[*yaml.Node]bool // being counted: an alias to one of them is a circle
}

func (g *yamlGuard) count(n *yaml.Node, depth int) (int, diag.Errors) {
	at := yamlOrigin(g.name, n)
	if depth > maxDepth {
		return 0, Mistake(at, "", fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
	}
	if n.Kind == yaml.AliasNode {
		if g.open[n.Alias] {
			return 0, Mistake(at, "", "alias *"+n.Value+" contains itself", "")
		}
		n = n.Alias
	}
	if size, ok := g.sizes[n]; ok {
		return size, nil
	}
	g.open[n] = true
	defer delete(g.open, n)
	total := 1
	for _, c := range n.Content {
		size, bad := g.count(c, depth+1)
		if bad != nil {
			return 0, bad
		}
		if total += size; total > maxNodes {
			return 0, Mistake(at, "", fmt.Sprintf("more than %d values once aliases are expanded", maxNodes),
				"write values out instead of nesting aliases; records go into a file named in dataset.path")
		}
	}
	g.sizes[n] = total
	return total, nil
}

// cueImports are the packages an experiment in CUE may import. They are pure:
// none reads a file, a clock or the network.
var cueImports = []string{ImportPath, "list", "math", "strings", "struct", "strconv"}

// cueGuard refuses what is not pure and what makes evaluation unbounded. It is
// for good messages; what gets past it meets the watchdog.
type cueGuard struct {
	name          string
	deps          []*build.Instance // what the package imports of the user's own
	levels, depth int               // of braces and brackets; of syntax
	loops         int               // for clauses in the file
	around        []*ast.Comprehension
	most          float64 // how often, in powers of ten, the heaviest part repeats something
	heaviest      string  // where it begins
	bad           diag.Errors
}

func (g *cueGuard) refuse(n ast.Node, message, hint string) {
	g.bad = append(g.bad, Mistake(cueOrigin(g.name, n.Pos()), "", message, hint)...)
}

func (g *cueGuard) imported(im *ast.ImportSpec) {
	path := strings.Trim(im.Path.Value, `"`)
	own := slices.ContainsFunc(g.deps, func(d *build.Instance) bool {
		return d.ImportPath == path || strings.HasPrefix(d.ImportPath, path+"@") ||
			strings.HasPrefix(path, d.ImportPath)
	})
	if !own && !slices.Contains(cueImports, path) {
		g.refuse(im, fmt.Sprintf("import %q is not allowed in an experiment", path),
			"allowed are "+strings.Join(cueImports, ", "))
	}
}

func (g *cueGuard) enter(n ast.Node) bool {
	if isLevel(n) {
		if g.levels++; g.levels > maxDepth {
			g.refuse(n, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
		}
	}
	if g.depth++; g.depth > maxSyntax {
		g.refuse(n, fmt.Sprintf("an expression of more than %d parts within each other", maxSyntax), "")
	}
	switch n := n.(type) {
	case *ast.Attribute:
		if strings.HasPrefix(n.Text, "@embed") || strings.HasPrefix(n.Text, "@extern") {
			g.refuse(n, n.Text+" is not allowed in an experiment", "")
		}
	case *ast.Comprehension:
		g.comprehension(n)
	case *ast.BinaryExpr:
		g.product(n)
	case *ast.ForClause:
		if g.loops++; g.loops > maxLoops {
			g.refuse(n, fmt.Sprintf("more than %d for clauses", maxLoops),
				"write the values, or make them axes of sweep.parameters")
		}
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok {
			if l, ok := s.Sel.(*ast.Ident); ok && (l.Name == "Range" || l.Name == "Repeat") {
				g.refuse(n, l.Name+" is not allowed in an experiment",
					"write the values, or make them axes of sweep.parameters")
			}
		}
	}
	return len(g.bad) == 0
}

// exit is called for every node whose parts were walked.
func (g *cueGuard) exit(n ast.Node) {
	g.depth--
	if isLevel(n) {
		g.levels--
	}
	if c, ok := n.(*ast.Comprehension); ok && len(g.around) > 0 && g.around[len(g.around)-1] == c {
		g.around = g.around[:len(g.around)-1]
	}
}

// comprehension counts the loops that n is within, its own among them.
func (g *cueGuard) comprehension(n *ast.Comprehension) {
	g.around = append(g.around, n)
	loops := 0
	for _, c := range g.around {
		for _, clause := range c.Clauses {
			if _, ok := clause.(*ast.ForClause); ok {
				loops++
			}
		}
	}
	g.weigh(float64(loops), g.around[0])
}

// product weighs text or lists that are multiplied by a number.
func (g *cueGuard) product(n *ast.BinaryExpr) {
	factor := 1.0
	for e := ast.Expr(n); ; {
		x, ok := e.(*ast.BinaryExpr)
		if !ok || x.Op != token.MUL {
			break
		}
		for _, side := range []ast.Expr{x.X, x.Y} {
			if l, ok := side.(*ast.BasicLit); ok && l.Kind == token.INT {
				if f, err := strconv.ParseFloat(strings.ReplaceAll(l.Value, "_", ""), 64); err == nil {
					factor *= f
				}
			}
		}
		e = x.X
	}
	g.weigh(math.Log10(max(factor, 1)), n)
}

// weigh notes a part that repeats something 10^power times; a loop counts as ten.
func (g *cueGuard) weigh(power float64, n ast.Node) {
	if power > g.most {
		g.most, g.heaviest = power, cueOrigin(g.name, n.Pos()).Where
	}
}

func isLevel(n ast.Node) bool {
	switch n.(type) {
	case *ast.StructLit, *ast.ListLit:
		return true
	}
	return false
}
