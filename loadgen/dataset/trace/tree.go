package trace

import "math/bits"

// none is the parent of a first block.
const none int32 = -1

// tree is all prefixes of a trace: a node is a block behind the blocks before
// it. It counts how often each appears.
//
// Most blocks of most traces appear once. Nothing is kept of them: a prefix that
// holds one appears once, too. Only names that appear again have numbers of their
// own, and room in the lists below. Nearly every trace names a block after all that
// stands before it, so that it has one parent and one place: node b is block b
// behind the parent with which it came first; only further parents and places take
// room in maps.
type tree struct {
	again  *repeated
	counts []int32 // appearances, by node
	parent []int32 // by block: its first parent
	place  []int32 // by block: the place of its first appearance, and whether it appeared there again
	other  map[pair]int32
	beyond map[pair]int32 // appearances of a block at other places
	nodes  int            // prefixes of blocks that all appear again
	single int            // prefixes that hold a block that does not
	steps  int            // appearances of all
}

// pair is a block with its parent, or with its place.
type pair struct{ of, block int32 }

// Marks in tree.place and tree.parent, and for a block that appears once.
const (
	unseen      = -1
	unknown     = -2
	once        = -3
	twice       = 1 // the block appeared at that place more than once
	placeShift  = 1
	sparseNames = 4 // names are renumbered when less than one of so many is used
)

// newTree is an empty tree for the blocks of rows, whose names are small.
func newTree(rows []Row) *tree {
	again := repetitions(rows)
	n := again.n
	t := &tree{
		again: again, counts: make([]int32, n), parent: make([]int32, n), place: make([]int32, n),
		other: map[pair]int32{}, beyond: map[pair]int32{},
	}
	for i := range t.place {
		t.place[i], t.parent[i] = unseen, unknown
	}
	return t
}

// repeated is which names appear more than once, and their numbers among these.
type repeated struct {
	bits   []uint64 // by name
	before []int32  // numbers given before each word of bits
	n      int      // names that appear more than once
	all    int      // names that appear
}

// repetitions goes through the rows once.
func repetitions(rows []Row) *repeated {
	words := names(rows)>>6 + 1
	seen := make([]uint64, words)
	r := &repeated{bits: make([]uint64, words), before: make([]int32, words)}
	for i := range rows {
		for _, b := range rows[i].Blocks {
			bit := uint64(1) << (b & 63)
			r.bits[b>>6] |= seen[b>>6] & bit
			seen[b>>6] |= bit
		}
	}
	for i, w := range r.bits {
		r.before[i] = int32(r.n)
		r.n += bits.OnesCount64(w)
		r.all += bits.OnesCount64(seen[i])
	}
	return r
}

// number is the number of name b; once where it appears once.
func (r *repeated) number(b int32) int32 {
	w, bit := r.bits[b>>6], uint64(1)<<(b&63)
	if w&bit == 0 {
		return once
	}
	return r.before[b>>6] + int32(bits.OnesCount64(w&(bit-1)))
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

// has reports whether the block called b has appeared, behind whatever prefix.
func (t *tree) has(b int32) bool {
	n := t.again.number(b)
	return n != once && t.place[n] != unseen
}

// step is the node of the block called b at place, behind node at; it counts it.
// It is once where the prefix appears once.
func (t *tree) step(at, b, place int32) int32 {
	t.steps++
	n := t.again.number(b)
	if n != once {
		switch first := t.place[n]; {
		case first == unseen:
			t.place[n] = place << placeShift
		case first>>placeShift == place:
			t.place[n] |= twice
		default:
			t.beyond[pair{place, n}]++
		}
	}
	if n == once || at == once {
		t.single++
		return once
	}
	node, known := t.find(at, n)
	switch {
	case known:
	case t.parent[n] == unknown:
		t.parent[n], node = at, n
		t.nodes++
	default:
		node = int32(len(t.counts))
		t.other[pair{at, n}] = node
		t.counts = append(t.counts, 0)
		t.nodes++
	}
	t.counts[node]++
	return node
}

// node is the block called b behind node at, which step has counted.
func (t *tree) node(at, b int32) int32 {
	n := t.again.number(b)
	if n == once || at == once {
		return once
	}
	node, _ := t.find(at, n)
	return node
}

// find is block n behind node at.
func (t *tree) find(at, n int32) (node int32, known bool) {
	if t.parent[n] == at {
		return n, true
	}
	node, known = t.other[pair{at, n}]
	return node, known
}

// size is the number of different prefixes.
func (t *tree) size() int { return t.nodes + t.single }

// reuse is the share of prefix appearances whose prefix appears more than once.
func (t *tree) reuse() float64 {
	var repeated float64
	for _, n := range t.counts {
		if n > 1 {
			repeated += float64(n)
		}
	}
	if t.steps == 0 {
		return 0
	}
	return repeated / float64(t.steps)
}

// groups is the number of first blocks that at least two requests share.
func (t *tree) groups() (n int) {
	for b, parent := range t.parent {
		if parent == none && t.counts[b] > 1 {
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
		n := t.again.number(b)
		if n == once {
			continue
		}
		if first := t.place[n]; first>>placeShift == int32(place) {
			repeated += int(first & twice)
		} else if t.beyond[pair{int32(place), n}] > 1 {
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
// use, itself included; 0 when it was never used, as one that is used once.
func (r *recency) touch(node int32) (distance int) {
	before := int32(0)
	if node != once {
		before, r.last[node] = r.last[node], r.now+1
	}
	if before > 0 {
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
