package exam

// gsm8k asks a word problem; the number that is true stands behind "####".
var gsm8k = benchmark{
	Info{Name: "gsm8k", Dataset: "openai/gsm8k", Licence: "MIT", Grader: "lighteval_gsm8k"},
	func(m *maker) error {
		return m.each("main", "test", func(c *cells) error {
			question, answer := c.str("question"), c.str("answer")
			if c.err != nil {
				return c.err
			}
			return m.add(c.place, Item{
				Task: m.b.Name, Prompt: "Question: " + question + "\nAnswer:", Truth: answer, MaxTokens: 256, Meta: meta(256),
			})
		})
	},
}
