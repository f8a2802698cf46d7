package trace

// cache is a set of a fixed size that forgets what was least recently touched.
// Its entries are a ring linked by number: nothing is allocated once it is full.
type cache struct {
	at         []int32 // by name: its entry + 1, 0 for none
	names      []int32
	next, prev []int32 // next is towards the oldest
	newest     int32
	size       int
}

// newCache is for the names below names.
func newCache(size, names int) *cache {
	return &cache{at: make([]int32, names), newest: -1, size: size}
}

// touch makes name the newest and tells whether it was there.
func (c *cache) touch(name int32) bool {
	i, ok := c.at[name]-1, c.at[name] > 0
	switch {
	case ok:
		c.unlink(i)
	case len(c.names) < c.size:
		i = int32(len(c.names))
		c.names, c.next, c.prev = append(c.names, name), append(c.next, i), append(c.prev, i)
	default:
		i = c.prev[c.newest] // the oldest stands before the newest in the ring
		c.at[c.names[i]] = 0
		c.unlink(i)
		c.names[i] = name
	}
	c.at[name] = i + 1
	c.link(i)
	return ok
}

func (c *cache) unlink(i int32) {
	if c.next[i] == i {
		c.newest = -1
		return
	}
	c.next[c.prev[i]], c.prev[c.next[i]] = c.next[i], c.prev[i]
	if c.newest == i {
		c.newest = c.next[i]
	}
}

func (c *cache) link(i int32) {
	if c.newest < 0 {
		c.next[i], c.prev[i] = i, i
	} else {
		n := c.newest
		c.next[i], c.prev[i] = n, c.prev[n]
		c.next[c.prev[n]], c.prev[n] = i, i
	}
	c.newest = i
}
