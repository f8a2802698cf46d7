package dataset

import (
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/schema"
)

// What a reranker is asked when nothing is said.
const (
	defaultPassages      = 10
	defaultPassageTokens = 128
	defaultQueryTokens   = 32
)

// rankings are the shapes of synthetic queries and passages.
type rankings struct{ passages, passage, query *synth.Lengths }

func newRankings(cfg *schema.Rankings, src source) (*rankings, error) {
	r := &rankings{}
	for _, l := range []struct {
		to    **synth.Lengths
		shape *schema.Shape
		name  string
		usual float64
		limit float64
	}{
		{&r.passages, cfg.Passages, "rankings.passages", defaultPassages, maxTurns},
		{&r.passage, cfg.PassageTokens, "rankings.passage_tokens", defaultPassageTokens, maxTokens},
		{&r.query, cfg.QueryTokens, "rankings.query_tokens", defaultQueryTokens, maxTokens},
	} {
		if l.shape == nil {
			l.shape = &schema.Shape{Mean: &l.usual}
		}
		made, err := synth.NewLengths(l.name, l.shape, src.shape(l.name), l.limit)
		if err != nil {
			return nil, err
		}
		*l.to = made
	}
	return r, nil
}

// ranking fills turn t of conversation i with a query and its passages. The
// length of passage p is draw (i, t·maxTurns + p).
func (g *synthetic) ranking(turn *Turn, i, t int) error {
	query, err := g.rank.query.At(i, t)
	if err != nil {
		return err
	}
	n, err := g.rank.passages.At(i, t)
	if err != nil {
		return err
	}
	turn.Query, turn.MaxTokens = g.text(query), 0
	for p := range n {
		size, err := g.rank.passage.At(i, t*maxTurns+p)
		if err != nil {
			return err
		}
		turn.Passages = append(turn.Passages, g.text(size))
	}
	turn.ISL = countTexts(g.tok, append([]string{turn.Query}, turn.Passages...))
	return nil
}
