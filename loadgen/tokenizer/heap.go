package tokenizer

// candidate says that two neighbours can be merged, at which rank, and into
// which token. It is stale when either of them has another id by then.
type candidate struct {
	rank        int32
	at          int32 // position: equal ranks merge from left to right
	left, right int32 // their ids
	id          int32 // of the union
}

// Before orders candidates: the next one to merge is on top.
func (c candidate) Before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}
