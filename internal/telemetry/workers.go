package telemetry

import (
	"math"
	"slices"
)

// workerCounts are the metrics of routers and front ends that say how many workers are
// ready, with the label of the model where they have one.
var workerCounts = []struct{ metric, model string }{
	{"dynamo_frontend_model_workers", "model"},
	{"router_worker_registered", ""},
}

// Workers is how many workers a page counts for a model; false where it counts none.
func Workers(p *Page, model string) (n int, known bool) {
	for _, c := range workerCounts {
		i := slices.IndexFunc(p.Families, func(f Family) bool { return f.Name == c.metric })
		if i < 0 {
			continue
		}
		sum := 0.0
		for _, v := range p.Families[i].Values {
			of := Pairs(v.Labels)[c.model]
			if c.model != "" && of != "" && of != model || math.IsNaN(v.V) || math.IsInf(v.V, 0) {
				continue
			}
			sum += math.Max(0, v.V)
		}
		return int(sum), true
	}
	return 0, false
}
