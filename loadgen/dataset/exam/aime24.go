package exam

// aime24 asks the bare problem.
var aime24 = benchmark{
	Info{Name: "aime24", Dataset: "HuggingFaceH4/aime_2024", Grader: "lighteval_expr"},
	bareAIME,
}

// bareAIME makes items of the problem alone.
func bareAIME(m *maker) error {
	return m.each("", "train", func(c *cells) error {
		problem, answer := c.str("problem"), c.plain("answer")
		if c.err != nil {
			return c.err
		}
		return m.add(c.place, Item{
			Task: m.b.Name, Prompt: problem, Truth: answer, MaxTokens: long, Meta: meta(long),
		})
	})
}
