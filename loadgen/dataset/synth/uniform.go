package synth

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// Range is how far random-corpus lengths reach around their mean, as a share
// of it; a negative share means that nothing was said.
type Range struct {
	Input, Output float64
	// SGLang says that the mean is the upper end: [max(1, ⌊m·r⌋), m]. Else the
	// window is vLLM's: [⌊m·(1−r)⌋, ⌈m·(1+r)⌉].
	SGLang bool
}

// ParseRange reads one number, or {"input": …, "output": …}.
func ParseRange(s, style string) (Range, error) {
	r := Range{-1, -1, style == "sglang"}
	if s == "" {
		return r, nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		r.Input, r.Output = v, v
	} else {
		both := struct{ Input, Output *float64 }{&r.Input, &r.Output}
		if json.Unmarshal([]byte(s), &both) != nil {
			return r, errors.New(`want a number, or {"input": 0.3, "output": 0.1}`)
		}
	}
	for _, v := range []float64{r.Input, r.Output} {
		if v > 1 || math.IsNaN(v) {
			return r, fmt.Errorf("%g is not a share from 0 to 1", v)
		}
	}
	return r, nil
}

// Around is the uniform distribution over whole numbers around mean that share
// says.
func (r Range) Around(name string, mean, share float64, stream Stream, limit float64) *Lengths {
	low, high := math.Floor(mean*(1-share)), math.Ceil(mean*(1+share))
	if r.SGLang {
		low, high = max(1, math.Floor(mean*share)), mean
	}
	low = max(low, 1)
	return &Lengths{name: name, stream: stream, limit: limit, draw: func(rng *rand.Rand) float64 {
		return low + math.Floor(rng.Float64()*(high-low+1))
	}}
}
