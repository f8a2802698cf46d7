package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// makeCode is a function, a record, a log line or a query with names out of
// the word lists. It begins with a letter and ends with a line end, so that
// pieces follow each other without merging.
func makeCode(r *rand.Rand) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	camel := func() string { n := pick(nouns); return pick(verbs) + strings.ToUpper(n[:1]) + n[1:] }
	snake := func() string { return pick(adjectives) + "_" + pick(nouns) }
	a, b, f := pick(nouns), pick(nouns), camel()
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("func %s(%s []%s, limit int) (int, error) {\n\ttotal := 0\n\tfor _, %s := range %s {\n\t\tif %s.size > limit {\n\t\t\treturn 0, errors.New(\"%s is too large\")\n\t\t}\n\t\ttotal += %s.size\n\t}\n\treturn total, nil\n}\n",
			f, a, b, b, a, b, b, b)
	case 1:
		return fmt.Sprintf("def %s_%s(%s, %s=None):\n    \"\"\"Return the %s of every %s.\"\"\"\n    result = []\n    for item in %s:\n        if item.%s is not None:\n            result.append(item.%s * %d)\n    return result\n",
			pick(verbs), a, a, snake(), pick(adjectives), b, a, b, b, 2+r.IntN(98))
	case 2:
		return fmt.Sprintf("class %s%s:\n    def __init__(self, %s):\n        self.%s = %s\n        self.%s = {}\n\n    def %s(self, key):\n        return self.%s.get(key, self.%s)\n",
			strings.ToUpper(a[:1]), a[1:], b, b, b, snake(), pick(verbs), snake(), b)
	case 3:
		return fmt.Sprintf("select %s.id, %s.%s, count(*) as %s from %s join %s on %s.id = %s.%s_id where %s.%s > %d group by %s.id order by %s desc limit %d\n",
			a, a, snake(), snake(), a, b, a, b, a, b, snake(), r.IntN(1000), a, snake(), 1+r.IntN(100))
	case 4:
		return fmt.Sprintf("info 2024-%02d-%02d %02d:%02d:%02d worker %d %s %s %s in %d ms, retry %t\n",
			1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(64), pick(verbs),
			pick(adjectives), a, r.IntN(5000), r.IntN(2) == 0)
	}
	return fmt.Sprintf("const %s = async (%s) => {\n  const %s = await fetch(`/api/%s/${%s.id}`);\n  if (!%s.ok) {\n    throw new Error('%s %s');\n  }\n  return %s.json();\n};\n",
		f, a, b, a, a, b, pick(verbs), a, b)
}
