package sinks

import (
	"github.com/klauspost/compress/zstd"
	parquet "github.com/parquet-go/parquet-go/compress/zstd"
)

// codec is parquet-go's zstd with an encoder of its own, which all tables of an
// experiment share. The usual one looks back over 8 MB and holds twice that; a
// page has 256 KB, its dictionary a megabyte. Of all levels the fastest takes the least
// memory, and files as small as the usual one's if texts that do not repeat, such as ids,
// are coded too.
type codec struct {
	parquet.Codec
	encoder *zstd.Encoder
}

// lookBack is the window of the encoder, in bytes.
const lookBack = 1 << 20

func newCodec() *codec {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithAllLitEntropyCompression(true), zstd.WithZeroFrames(true),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(lookBack))
	if err != nil {
		panic(err) // these options are right
	}
	return &codec{encoder: e}
}

// Encode writes the compressed src over dst. Goroutines wait for each other.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst[:0]), nil
}
