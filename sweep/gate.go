package sweep

// Gate is one condition every cell must meet, an expression over metric
// statistics (time_to_first_token.p99 < 250) and axis names.
type Gate struct {
	Expr   string
	Origin string
}
