package grade

// lightevalExpr compares a number, or an expression as people type it, with an answer in
// that form or in LaTeX.
var lightevalExpr = row{"lighteval_expr", pure(func(answer, truth string) Judgement {
	return extractive("Expr", answer, truth, finder{expression: true}, finder{expression: true, latex: true})
})}
