package search

import "slices"

// A search for the smallest load that holds is one for the largest in a mirror: a load x is
// seen at Low·High/x there, so that more load is less.

// mirror is where a load is seen, and the load that is seen there.
func (s *state) mirror(load float64) float64 {
	switch {
	case s.Find != Min:
		return load
	case load == s.Low:
		return s.High
	case load == s.High:
		return s.Low
	}
	return s.Low * s.High / load
}

// flight is the load that is seen at a place, to compare how many requests are under way.
func (t Terms) flight(place float64) float64 {
	if t.Find == Min {
		return t.Low * t.High / place
	}
	return place
}

// face is the load that is seen at a place, as it was given.
func (s *state) face(place float64) float64 {
	if s.Find != Min {
		return place
	}
	return s.canonical(s.mirror(place))
}

// side is the word for what is upwards in the mirror.
func (s *state) side(up, mirrored string) string {
	if s.Find == Min {
		return mirrored
	}
	return up
}

func (s *state) number(place float64) string { return number(s.face(place)) }

func (s *state) mirrored(runs []Run) []Run {
	if s.Find != Min {
		return runs
	}
	out := slices.Clone(runs)
	for i := range out {
		out[i].Load = s.mirror(out[i].Load)
	}
	return out
}

// facing is a step out of the mirror.
func (s *state) facing(step Step) Step {
	if s.Find != Min {
		return step
	}
	turn := func(l *Load) *Load {
		if l == nil {
			return nil
		}
		out := *l
		out.Load = s.face(l.Load)
		return &out
	}
	step.Load = s.face(step.Load)
	if a := step.Answer; a != nil {
		step.Load = 0
		a.Holds, a.Fails, a.Again = turn(a.Holds), turn(a.Fails), turn(a.Again)
		if a.At != 0 {
			a.At = s.face(a.At)
		}
		for i := range a.Loads {
			a.Loads[i].Load = s.face(a.Loads[i].Load)
		}
		slices.Reverse(a.Loads)
	}
	return step
}
