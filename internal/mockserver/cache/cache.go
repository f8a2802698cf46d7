// Package cache is a prefix cache as inference servers keep one: whole blocks
// of tokens, each known by the hash of all tokens from the beginning of the
// prompt to its end, of which the least recently used go when there is no room.
package cache

import "container/list"

// Cache holds the keys of blocks. It is not safe for concurrent use.
type Cache struct {
	capacity int
	order    *list.List // of uint64, most recently used first
	where    map[uint64]*list.Element
}

// New makes an empty cache with room for so many blocks.
func New(capacity int) *Cache {
	return &Cache{capacity: capacity, order: list.New(), where: map[uint64]*list.Element{}}
}

// Keys are those of the whole blocks of a prompt, in order. Prompts share keys
// as far as they share their salt and their beginning.
func Keys(salt string, ids []int, block int) []uint64 {
	h := uint64(0)
	for i := range len(salt) {
		h = mix(h, uint64(salt[i]))
	}
	keys := make([]uint64, 0, len(ids)/block)
	for i, id := range ids[:len(ids)/block*block] {
		if h = mix(h, uint64(id)); (i+1)%block == 0 {
			keys = append(keys, h)
		}
	}
	return keys
}

// mix adds a value to a hash: the finalizer of SplitMix64, in a chain.
func mix(h, v uint64) uint64 {
	h += v + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Ask is a prompt that comes: how many of its leading blocks the cache holds.
// From then on it holds all of them, as far as they fit.
func (c *Cache) Ask(keys []uint64) (known int) {
	for known < len(keys) && c.where[keys[known]] != nil {
		known++
	}
	// From its end, so that of a prompt the beginning stays longest: a block is
	// of no use without those before it.
	for i := min(len(keys), c.capacity) - 1; i >= 0; i-- {
		c.touch(keys[i])
	}
	return known
}

func (c *Cache) touch(key uint64) {
	if e := c.where[key]; e != nil {
		c.order.MoveToFront(e)
		return
	}
	if c.order.Len() >= c.capacity {
		delete(c.where, c.order.Remove(c.order.Back()).(uint64))
	}
	c.where[key] = c.order.PushFront(key)
}

// Len is how many blocks are held.
func (c *Cache) Len() int { return c.order.Len() }
