package exam

// math500 asks the bare problem; what is true stands in a whole solution, in \boxed{}.
var math500 = benchmark{
	Info{Name: "math_500", Dataset: "HuggingFaceH4/MATH-500", Grader: "lighteval_latex"},
	func(m *maker) error {
		return m.each("", "test", func(c *cells) error {
			problem, solution := c.str("problem"), c.str("solution")
			subject := c.maybe("subject")
			level := ""
			if c.has("level") {
				level = c.plain("level")
			}
			if c.err != nil {
				return c.err
			}
			return m.add(c.place, Item{
				Task: first(subject, m.b.Name), Prompt: problem, Truth: solution, MaxTokens: long,
				Meta: meta(long, "subject", subject, "level", level),
			})
		})
	},
}
