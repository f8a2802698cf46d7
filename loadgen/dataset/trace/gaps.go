package trace

import (
	"cmp"
	"slices"
	"time"
)

// CloseGaps shortens the time in which nobody sends to the longest that is to be
// kept. What has no time of its own comes after an answer and stays as it is.
func CloseGaps(rows []Row, longest time.Duration) {
	var order []int32
	for i := range rows {
		if rows[i].Timed {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(rows[a].At, rows[b].At) })
	var cut, before time.Duration
	for k, i := range order {
		row := &rows[i]
		if gap := row.At - before; k > 0 && gap > longest {
			cut += gap - longest
		}
		before = row.At
		row.At -= cut
	}
}

// CloseGapsOfTrees does the same for each session tree by its own clock; tree names
// that of a session. Pauses are shorter by as much.
func CloseGapsOfTrees(rows []Row, longest time.Duration, tree func(session string) string) {
	trees := map[string][]int32{}
	for i := range rows {
		name := tree(rows[i].Session)
		trees[name] = append(trees[name], int32(i))
	}
	cuts := make([]time.Duration, len(rows))
	for _, of := range trees {
		slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(rows[a].At, rows[b].At) })
		var cut time.Duration
		for k, i := range of {
			if k > 0 {
				cut += max(0, rows[i].At-rows[of[k-1]].At-longest)
			}
			cuts[i] = cut
		}
	}
	last := map[string]int32{} // row of each session
	for i := range rows {
		row := &rows[i]
		if before, ok := last[row.Session]; ok {
			row.Delay = max(0, row.Delay-(cuts[i]-cuts[before]))
		}
		last[row.Session] = int32(i)
		row.Delay = min(row.Delay, longest)
	}
	for i := range rows {
		rows[i].At -= cuts[i]
	}
}
