// Command gen writes a large mooncake trace for measurements of time and memory:
// sessions whose rows repeat the row before them and add blocks, below prefixes
// that many sessions share. The same flags write the same bytes.
//
//	go run ./loadgen/dataset/trace/gen -rows 1000000 -blocks 26 -o trace.jsonl
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

// block is the number of tokens that one hash stands for.
const block = 512

func main() {
	rows := flag.Int("rows", 1_000_000, "`number` of rows")
	blocks := flag.Int("blocks", 14, "`number` of blocks that a row has in the mean, from 4")
	fresh := flag.Bool("fresh", false, "share nothing but a prefix of two blocks: nearly every block appears once")
	wide := flag.Bool("wide", false, "hashes of 64 bits in place of counted ones")
	out := flag.String("o", "trace.jsonl", "`file` to write")
	flag.Parse()
	if err := write(*out, *rows, max(4, *blocks), *fresh, *wide); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// turns are the rows of a session: each adds as many blocks as make the mean.
const turns = 8

func write(path string, rows, blocks int, fresh, wide bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	r := rand.New(rand.NewPCG(1, uint64(blocks)))
	const prefixes, prefix = 1000, 2
	next := uint64(prefixes * prefix)
	var ids []uint64
	var line []byte
	for i := range rows {
		add := max(1, 2*(blocks-prefix)/(turns+1))
		if fresh {
			add = blocks - prefix
		}
		if i%turns == 0 || fresh {
			ids = ids[:0]
			for k, p := uint64(0), uint64(r.IntN(prefixes)); k < prefix; k++ {
				ids = append(ids, p*prefix+k)
			}
		}
		for range add {
			ids = append(ids, next)
			next++
		}
		line = fmt.Appendf(line[:0], `{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [`, i,
			(len(ids)-1)*block+1+r.IntN(block), 1+r.IntN(1000))
		for k, id := range ids {
			if k > 0 {
				line = append(line, ", "...)
			}
			if wide {
				id = spread(id)
			}
			line = strconv.AppendUint(line, id, 10)
		}
		if _, err := w.Write(append(line, "]}\n"...)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// spread is a hash of 63 bits of a number (the finaliser of SplitMix64).
func spread(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) >> 1
}
