package docgen

// Rules are the findings of aiperf diagnose, in rows of name, title, conditions,
// certainty and what to do next.
func Rules(rows [][]string) string {
	return table([]string{"finding", "what it says", "where all of this holds", "certainty", "next"}, rows)
}

// Facts are what findings ask for, in rows of name, unit, meaning and what to do where it
// is not known.
func Facts(rows [][]string) string {
	return table([]string{"fact", "unit", "what it is", "where it is not known"}, rows)
}

// Causes are what an experiment can show, in rows of name, title and what is expected of each
// effect; effects are those.
func Causes(effects []string, rows [][]string) string {
	return table(append([]string{"cause", "what it says"}, effects...), rows)
}
