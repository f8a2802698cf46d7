package tokenizer

import (
	"strings"
	"sync/atomic"
)

// pieceCache remembers the ids of short pieces. Each piece has one place,
// which a newer piece takes over, so that it is bounded and needs no lock.
type pieceCache [1 << 14]atomic.Pointer[cachedPiece]

type cachedPiece struct {
	text string
	ids  []int32
}

// maxCached is the longest piece worth remembering, in bytes.
const maxCached = 48

func (c *pieceCache) place(piece string) *atomic.Pointer[cachedPiece] {
	return &c[hash(piece)>>(64-14)]
}

// get is the ids of piece, nil if they are not known. They are read only.
func (c *pieceCache) get(piece string) []int32 {
	if p := c.place(piece).Load(); p != nil && p.text == piece {
		return p.ids
	}
	return nil
}

func (c *pieceCache) put(piece string, ids []int32) {
	if len(piece) > maxCached || len(ids) == 0 {
		return
	}
	c.place(piece).Store(&cachedPiece{strings.Clone(piece), append([]int32(nil), ids...)})
}
