package telemetry

import "math"

// Busy is how many requests a page says are worked on or wait; false where it tells
// neither.
func Busy(p *Page) (requests float64, known bool) {
	for _, word := range []string{"running", "waiting"} {
		best := math.MaxInt // the first of the meanings that the page has counts
		sum := 0.0
		for i := range p.Families {
			for _, m := range Means(p.Families[i].Name) {
				at := rankOf(m)
				if m.Word != word || at > best {
					continue
				}
				n, some := m.sum(&p.Families[i])
				switch {
				case !some:
				case at < best:
					best, sum = at, n
				default:
					sum += n
				}
			}
		}
		if best < math.MaxInt {
			requests, known = requests+sum, true
		}
	}
	return requests, known
}

// rankOf is the place of a meaning among all.
func rankOf(m Meaning) int {
	for i, x := range Meanings() {
		if x == m {
			return i
		}
	}
	return math.MaxInt
}

// sum adds the values that are meant; ranks that repeat one value are added, too, which
// makes no difference to whether there are any.
func (m Meaning) sum(f *Family) (n float64, some bool) {
	for _, v := range f.Values {
		if m.Only[0] != "" && Pairs(v.Labels)[m.Only[0]] != m.Only[1] || math.IsNaN(v.V) || math.IsInf(v.V, 0) {
			continue
		}
		n, some = n+math.Max(0, v.V), true
	}
	return n, some
}
