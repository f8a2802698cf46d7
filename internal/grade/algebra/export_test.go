package algebra

// MostEffort is what a comparison may use, and what its last step may use beyond that.
const MostEffort = effort + 2*maxText

// Effort is a comparison, and how many parts of expressions it looked at.
func Effort(r Rule, a, b *Expr) (Verdict, int) {
	c := &comparison{r, effort}
	v := c.compare(a, b)
	return v, effort - c.left
}
