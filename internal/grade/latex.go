package grade

// lightevalLatex compares LaTeX, of a whole solution, with an answer in LaTeX or as people
// type it.
var lightevalLatex = row{"lighteval_latex", pure(func(answer, truth string) Judgement {
	return extractive("Latex", answer, truth, finder{latex: true, boxAt: 55}, finder{expression: true, latex: true})
})}
