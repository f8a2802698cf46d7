package stats

// Falling is isotonic regression: the values nearest to y, each counted with its weight,
// that never rise from one to the next. Neighbours that rise are pooled (Ayer et al.,
// Annals of Mathematical Statistics 26, 1955). y and weights have one length; no weight is
// below 0.
func Falling(y, weights []float64) []float64 {
	type block struct {
		mean, weight float64
		n            int
	}
	var blocks []block
	for i, v := range y {
		b := block{v, weights[i], 1}
		for k := len(blocks) - 1; k >= 0 && blocks[k].mean < b.mean; k-- {
			of := blocks[k]
			if sum := of.weight + b.weight; sum > 0 {
				b.mean = (of.mean*of.weight + b.mean*b.weight) / sum
			}
			b.weight, b.n = b.weight+of.weight, b.n+of.n
			blocks = blocks[:k]
		}
		blocks = append(blocks, b)
	}
	out := make([]float64, 0, len(y))
	for _, b := range blocks {
		for range b.n {
			out = append(out, b.mean)
		}
	}
	return out
}
