package schema

// short is s, cut where it stops helping.
func short(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

func short200(s string) string {
	if len(s) > 200 {
		return s[:197] + "..."
	}
	return s
}
