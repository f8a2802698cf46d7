package exam

import (
	"crypto/sha256"
	"encoding/binary"

	"aiperf.dev/aiperf/internal/pyrandom"
)

// gpqaDiamond asks for one of four letters; their order follows from the question.
var gpqaDiamond = benchmark{
	Info{
		Name: "gpqa_diamond", Dataset: "Idavidrein/gpqa", Licence: "CC-BY-4.0", Gated: true, Grader: "lighteval_gpqa",
	},
	gpqaItems,
}

const gpqaIntro = "Answer the following multiple choice question. The last line of your response should be of the following format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. Think step by step before answering.\n\n"

func gpqaItems(m *maker) error {
	return m.each("gpqa_diamond", "train", func(c *cells) error {
		question := c.str("Question")
		choices := []string{
			c.str("Correct Answer"), c.str("Incorrect Answer 1"), c.str("Incorrect Answer 2"), c.str("Incorrect Answer 3"),
		}
		domain, subdomain := c.maybe("High-level domain"), c.maybe("Subdomain")
		if c.err != nil {
			return c.err
		}
		prompt, truth := gpqaIntro+question+"\n", ""
		for place, i := range gpqaOrder(question) {
			letter := string(rune('A' + place))
			prompt += "\n" + letter + ") " + choices[i]
			if i == 0 {
				truth = letter
			}
		}
		return m.add(c.place, Item{
			Task: m.b.Name, Prompt: prompt, Truth: truth, MaxTokens: long,
			Meta: meta(long, "domain", domain, "subdomain", subdomain),
		})
	})
}

// gpqaOrder is which choice stands where; 0 is the right one. The seed is the SHA-256
// of the question modulo 2^32.
func gpqaOrder(question string) []int {
	sum := sha256.Sum256([]byte(question))
	order := []int{0, 1, 2, 3}
	random := pyrandom.New(binary.BigEndian.Uint32(sum[len(sum)-4:]))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
