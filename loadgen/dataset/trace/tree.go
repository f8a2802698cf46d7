package trace

import "math/bits"

// none is the parent of a first block.
const none int32 = -1

// tree is all prefixes of a trace: a node is a block behind the blocks before
// it. It counts how often each appears.
//
// Nearly every trace names a block after all that stands before it, so that it
// has one parent and one place. Node b is block b behind the parent with which
// it came first; only further parents and places take room in maps.
type tree struct {
	counts []int32 // appearances, by node
	parent []int32 // by block: its first parent
	place  []int32 // by block: the place of its first appearance, and whether it appeared there again
	other  map[pair]int32
	beyond map[pair]int32 // appearances of a block at other places
	absent int            // names that no block has
	steps  int            // appearances of all
}

// pair is a block with its parent, or with its place.
type pair struct{ of, block int32 }

// Marks in tree.place.
const (
	unseen      = -1
	again       = 1 // the block appeared at that place more than once
	placeShift  = 1
	sparseNames = 4 // names are renumbered when less than one of so many is used
)

// newTree is an empty tree for the blocks of rows, whose names are small.
func newTree(rows []Row) *tree {
	n := names(rows)
	t := &tree{counts: make([]int32, n), parent: make([]int32, n), place: make([]int32, n), other: map[pair]int32{}, beyond: map[pair]int32{}, absent: n}
	for i := range t.place {
		t.place[i] = unseen
	}
	return t
}

// names is one more than the greatest name.
func names(rows []Row) int {
	most := none
	for i := range rows {
		for _, b := range rows[i].Blocks {
			most = max(most, b)
		}
	}
	return int(most) + 1
}

// named gives blocks new names where theirs are few and far between: a tree
// has room for every name up to the greatest.
func named(rows []Row) []Row {
	blocks := 0
	for i := range rows {
		blocks += len(rows[i].Blocks)
	}
	if names(rows) <= sparseNames*(blocks+1) {
		return rows
	}
	var small Names
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = r
		out[i].Blocks = make([]int32, len(r.Blocks))
		for k, b := range r.Blocks {
			out[i].Blocks[k] = small.Of(uint64(uint32(b)))
		}
	}
	return out
}

// has tells whether block b has appeared, behind whatever prefix.
func (t *tree) has(b int32) bool { return t.place[b] != unseen }

// step is the node of block b at place, behind node at; it counts it.
func (t *tree) step(at, b, place int32) int32 {
	t.steps++
	switch first := t.place[b]; {
	case first == unseen:
		t.place[b], t.parent[b] = place<<placeShift, at
		t.absent--
	case first>>placeShift == place:
		t.place[b] |= again
	default:
		t.beyond[pair{place, b}]++
	}
	node := t.node(at, b)
	if node == none {
		node = int32(len(t.counts))
		t.other[pair{at, b}] = node
		t.counts = append(t.counts, 0)
	}
	t.counts[node]++
	return node
}

// node is block b behind node at; none where it never was there.
func (t *tree) node(at, b int32) int32 {
	if t.parent[b] == at {
		return b
	}
	if node, ok := t.other[pair{at, b}]; ok {
		return node
	}
	return none
}

// size is the number of different prefixes.
func (t *tree) size() int { return len(t.counts) - t.absent }

// reuse is the share of prefix appearances whose prefix appears more than once.
func (t *tree) reuse() float64 {
	var repeated, all float64
	for _, n := range t.counts {
		all += float64(n)
		if n > 1 {
			repeated += float64(n)
		}
	}
	if all == 0 {
		return 0
	}
	return repeated / all
}

// groups is the number of first blocks that at least two requests share.
func (t *tree) groups() (n int) {
	for b, parent := range t.parent {
		if parent == none && t.has(int32(b)) && t.counts[b] > 1 {
			n++
		}
	}
	for p, node := range t.other {
		if p.of == none && t.counts[node] > 1 {
			n++
		}
	}
	return n
}

// context is the tokens of r in blocks that stand at the same place in another
// request, too; the whole input when all do.
func (t *tree) context(r *Row, blockSize int) float64 {
	repeated := 0
	for place, b := range r.Blocks {
		if first := t.place[b]; first>>placeShift == int32(place) {
			repeated += int(first & again)
		} else if t.beyond[pair{int32(place), b}] > 1 {
			repeated++
		}
	}
	if repeated == len(r.Blocks) && repeated > 0 {
		return float64(r.In)
	}
	return float64(repeated * blockSize)
}

// recency knows how many nodes were used since one was used last. A bit stands
// for each use that is the last one of its node; sums of groups of bits are
// kept so that counting them takes a few steps.
type recency struct {
	last  []int32  // by node: its last use, from 1; 0 for none
	bits  []uint64 // by use
	sums  []int32  // a Fenwick tree of the bits in each full group
	now   int32    // uses so far
	nodes int      // different ones so far
}

// A group is 512 uses in 8 words: one read of memory.
const groupShift, groupWords = 9, 8

// newRecency is for so many nodes and uses.
func newRecency(nodes, uses int) *recency {
	groups := uses>>groupShift + 1
	return &recency{last: make([]int32, nodes), bits: make([]uint64, groups*groupWords), sums: make([]int32, groups+1)}
}

// touch uses node. It returns how many different nodes were used since its last
// use, itself included; 0 when it was never used.
func (r *recency) touch(node int32) (distance int) {
	if before := r.last[node]; before > 0 {
		distance = r.nodes - r.until(before-1)
		r.bits[(before-1)>>6] &^= 1 << ((before - 1) & 63)
		if g := (before - 1) >> groupShift; g < r.now>>groupShift {
			r.add(g, -1)
		}
	} else {
		r.nodes++
	}
	r.bits[r.now>>6] |= 1 << (r.now & 63)
	r.now++
	r.last[node] = r.now
	if r.now&(1<<groupShift-1) == 0 { // the group is full
		g := r.now>>groupShift - 1
		r.add(g, r.count(g, groupWords))
	}
	return distance
}

// until is the number of bits before use.
func (r *recency) until(use int32) (n int) {
	group, word := use>>groupShift, use>>6
	for i := group; i > 0; i &= i - 1 {
		n += int(r.sums[i])
	}
	n += int(r.count(group, int(word)&(groupWords-1)))
	return n + bits.OnesCount64(r.bits[word]&(1<<(use&63)-1))
}

// count is the number of bits in the first words of a group.
func (r *recency) count(group int32, words int) (n int32) {
	for _, w := range r.bits[int(group)*groupWords:][:words] {
		n += int32(bits.OnesCount64(w))
	}
	return n
}

// add changes the sum of a full group.
func (r *recency) add(group, by int32) {
	for i := int(group) + 1; i < len(r.sums); i += i & -i {
		r.sums[i] += by
	}
}
