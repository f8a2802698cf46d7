package exam

// aime asks for a number, with solved problems of the same competition before it. They
// are the first ones of the same file, so that some questions hold their own answers.
var aime = benchmark{
	Info{
		Name: "aime", Dataset: "Maxwell-Jia/AIME_2024", Licence: "MIT", Grader: "math",
		Shots: 8, MaxShots: 8, CoT: true,
		System: `Please reason step by step, and put your final answer within \boxed{}.`,
	},
	aimeItems,
}

const aimeIntro = "The following are problems from the American Invitational Mathematics Examination (AIME) 2024. AIME is a prestigious high school mathematics competition known for its challenging mathematical problems.\n\n"

// long is the bound of answers that reason at length, in tokens.
const long = 32768

func aimeItems(m *maker) error {
	shots, n := "", 0
	if m.shots > 0 {
		shots = aimeIntro
		err := m.each("", "train", func(c *cells) error {
			if n++; n > m.shots {
				return errEnough
			}
			shots += "**Problem**: " + c.str("Problem") + "\n"
			if m.cot {
				shots += "**Solution**: " + c.str("Solution") + "\n"
			}
			shots += "**Answer**: " + c.plain("Answer") + "\n\n"
			return c.err
		})
		if err != nil {
			return err
		}
	}
	ask := "No explanation needed. Just return a number."
	if m.cot {
		ask = "Let's think step-by-step."
	}
	return m.each("", "train", func(c *cells) error {
		problem, answer := c.str("Problem"), c.plain("Answer")
		if c.err != nil {
			return c.err
		}
		return m.add(c.place, Item{
			Task: m.b.Name, Prompt: shots + "**Problem**: " + problem + "\n**Answer**: \n\n" + ask, Truth: answer,
			MaxTokens: long, Meta: meta(long),
		})
	})
}
