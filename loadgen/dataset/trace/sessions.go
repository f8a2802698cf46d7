package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Sessions are the rows of a trace as they are played: session by session, and
// which session starts which other ones. They hold lengths and times, no texts.
type Sessions struct {
	Rows   []Row
	order  []int32           // rows, session by session
	starts []int32           // starts[i]..starts[i+1] in order are session i
	roots  []int32           // sessions that no other one starts; nil: all
	kids   map[int32][]Child // by session: those that it starts
}

// Branch is a session that another one starts: by lines, the row that starts it,
// the row that waits until it is over (−1: none does), and its first row.
type Branch struct{ From, Join, Child int32 }

// Child is a session that turn From of another one starts, and which its turn Join
// waits for; 0: none does.
type Child struct {
	Session    int32
	From, Join int
}

// Group puts the rows of a session together, sessions in the order of their first
// rows. A row without a session is one of its own.
func Group(rows []Row) *Sessions {
	s := &Sessions{Rows: rows}
	of := map[string]int{}
	var sessions [][]int32
	single := make([]int32, 0, len(rows))
	for i := range rows {
		name := rows[i].Session
		k, known := of[name]
		if name == "" || !known {
			single = append(single, int32(i))
			if name != "" {
				of[name] = len(sessions)
			}
			n := len(single)
			sessions = append(sessions, single[n-1:n:n])
			continue
		}
		sessions[k] = append(sessions[k], int32(i))
	}
	for _, rows := range sessions {
		s.starts = append(s.starts, int32(len(s.order)))
		s.order = append(s.order, rows...)
	}
	s.starts = append(s.starts, int32(len(s.order)))
	return s
}

// Tie finds the sessions of branches. Rows may have been left out: then the turn
// before the one that started a session starts it, and the one after the one
// that waited for it waits.
func (s *Sessions) Tie(branches []Branch) {
	if len(branches) == 0 {
		return
	}
	of := map[string]int32{} // session by name
	for i := range s.Len() {
		of[s.Name(i)] = int32(i)
	}
	names := map[int32]string{} // by line
	for i := range s.Rows {
		names[s.Rows[i].Line] = s.Rows[i].Session
	}
	s.kids = map[int32][]Child{}
	started := map[int32]bool{}
	for _, b := range branches {
		child, ok := of[names[b.Child]]
		parent, known := of[names[b.From]]
		if !ok || !known {
			continue
		}
		k := Child{Session: child, From: -1}
		for t, at := range s.Of(int(parent)) {
			switch line := s.Rows[at].Line; {
			case line <= b.From:
				k.From = t
			case k.Join == 0 && b.Join >= 0 && line >= b.Join:
				k.Join = t
			}
		}
		if k.From < 0 {
			continue
		}
		s.kids[parent], started[child] = append(s.kids[parent], k), true
	}
	for i := range int32(s.Len()) {
		if !started[i] {
			s.roots = append(s.roots, i)
		}
	}
}

// Part makes each row that is played a session, named by its place in the one
// that it was recorded in.
func (s *Sessions) Part() {
	for i := range s.Len() {
		for k, at := range s.Of(i) {
			if row := &s.Rows[at]; row.Session != "" {
				row.Session = fmt.Sprintf("%s#%d", row.Session, k)
			}
		}
	}
	s.starts = s.starts[:0]
	for i := range len(s.order) + 1 {
		s.starts = append(s.starts, int32(i))
	}
}

// Keep drops all sessions but these roots, in their order, and what they start.
func (s *Sessions) Keep(roots []int32) {
	now := map[int32]int32{} // the new number of a session
	var order, starts, first []int32
	var keep func(i int32)
	keep = func(i int32) {
		now[i] = int32(len(starts))
		starts = append(starts, int32(len(order)))
		order = append(order, s.Of(int(i))...)
		for _, k := range s.kids[i] {
			keep(k.Session)
		}
	}
	for _, i := range roots {
		first = append(first, int32(len(starts)))
		keep(i)
	}
	s.order, s.starts = order, append(starts, int32(len(order)))
	if s.kids == nil {
		return
	}
	kids := map[int32][]Child{}
	for i, list := range s.kids {
		if to, ok := now[i]; ok {
			for _, k := range list {
				k.Session = now[k.Session]
				kids[to] = append(kids[to], k)
			}
		}
	}
	s.roots, s.kids = first, kids
}

// Len is the number of all sessions.
func (s *Sessions) Len() int { return len(s.starts) - 1 }

// Roots is the number of sessions that no other one starts.
func (s *Sessions) Roots() int {
	if s.roots != nil {
		return len(s.roots)
	}
	return s.Len()
}

// Root is the session that is the i-th of these.
func (s *Sessions) Root(i int) int {
	if s.roots != nil {
		return int(s.roots[i])
	}
	return i
}

// Trees reports whether some sessions start others.
func (s *Sessions) Trees() bool { return s.kids != nil }

// Children are the sessions that session i starts.
func (s *Sessions) Children(i int) []Child { return s.kids[int32(i)] }

// Of are the rows of session i, by their index in Rows.
func (s *Sessions) Of(i int) []int32 { return s.order[s.starts[i]:s.starts[i+1]] }

// Order are the rows of all sessions, one session behind the other.
func (s *Sessions) Order() []int32 { return s.order }

// Name is what the trace calls session i, "" where it gives no name.
func (s *Sessions) Name(i int) string { return s.Rows[s.order[s.starts[i]]].Session }

// Cumulative reports whether every row of session i repeats the whole blocks of the
// one before it: then its rows hold the history, not what was added.
func (s *Sessions) Cumulative(i int) bool {
	rows := s.Of(i)
	for k := 1; k < len(rows); k++ {
		before, now := s.Rows[rows[k-1]].Blocks, s.Rows[rows[k]].Blocks
		whole := before[:max(0, len(before)-1)]
		if len(whole) == 0 || len(now) < len(before) || !slices.Equal(now[:len(whole)], whole) {
			return false
		}
	}
	return len(rows) > 1
}

// Finder finds the place in Order of the first row of a session by the trace's
// name for it; of sessions with one name that of the last. Sessions are numbered
// in the order of their names: a map of a million takes ten times the room.
func (s *Sessions) Finder() func(name string) (place int32, ok bool) {
	var byName []int32
	for i := range s.Len() {
		if s.Name(i) != "" {
			byName = append(byName, int32(i))
		}
	}
	slices.SortStableFunc(byName, func(a, b int32) int { return cmp.Compare(s.Name(int(a)), s.Name(int(b))) })
	return func(name string) (int32, bool) {
		at, _ := slices.BinarySearchFunc(byName, name, func(i int32, name string) int {
			if s.Name(int(i)) <= name {
				return -1
			}
			return 1
		})
		if at == 0 || s.Name(int(byName[at-1])) != name {
			return 0, false
		}
		return s.starts[byName[at-1]], true
	}
}

// First is the place in Order of the first row of session i.
func (s *Sessions) First(i int) int32 { return s.starts[i] }
