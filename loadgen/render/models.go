package render

import (
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// models chooses the model of each session.
type models struct {
	names    []string
	upTo     []float64 // cumulative weights in (0, 1], for random and weighted
	rotating bool
}

func newModels(m schema.Models) (*models, error) {
	if len(m.Items) == 0 {
		return nil, fmt.Errorf("models: none is named")
	}
	s := &models{}
	var sum float64
	for _, item := range m.Items {
		w := 1.0
		if m.Strategy == "weighted" && item.Weight != nil {
			w = *item.Weight
		}
		if !(w >= 0) {
			return nil, fmt.Errorf("models: weight %v of %s is below 0", w, item.Name)
		}
		sum += w
		s.names, s.upTo = append(s.names, item.Name), append(s.upTo, sum)
	}
	switch m.Strategy {
	case "", "round_robin":
		s.rotating = true
	case "random", "weighted":
	default:
		return nil, diag.Errorf("models.strategy: %q is not known", m.Strategy).Try("round_robin, random or weighted")
	}
	if sum == 0 {
		return nil, fmt.Errorf("models: every weight is 0")
	}
	for i := range s.upTo {
		s.upTo[i] /= sum
	}
	return s, nil
}

// pick is the model of session index.
func (s *models) pick(key uint64, index int64) string {
	if s.rotating {
		return s.names[index%int64(len(s.names))]
	}
	u := uniform(key, index, 0)
	for i, to := range s.upTo {
		if u < to {
			return s.names[i]
		}
	}
	return s.names[len(s.names)-1]
}
