package sinks

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// Columns whose values are the same for a while are written from values that
// are kept: they must change when the column does, also in the middle of a
// batch, where a row group ends.
func TestUniformColumns(t *testing.T) {
	t.Parallel()
	fs := []Field{
		{Name: "n", Kind: Int64, Null: true, enc: delta},
		{Name: "x", Kind: Float64, Null: true, enc: byteStreamSplit},
		{Name: "s", Kind: Text, Null: true, enc: dictionary},
		{Name: "yes", Kind: Bool},
	}
	const size, batches = batchRows - 1, 34 // the last but one crosses the end of a row group
	type values struct {
		n   int64
		x   float64
		s   string
		yes int64
	}
	value := func(row int) values {
		switch phase := row / size; {
		case row >= rowGroupRows:
			return values{9, 0.5, "after", 1}
		case phase%5 == 0:
			return values{7, 1.5, "same", 0}
		case phase%5 == 1:
			return values{record.None, math.NaN(), "", 0}
		case phase%5 == 2:
			return values{int64(row), float64(row) / 3, fmt.Sprint(row % 7), int64(row % 2)}
		case phase%5 == 3 && row%size == size-1:
			return values{8, 2.5, "last", 1}
		}
		return values{3, 4.5, "again", 1}
	}
	var file bytes.Buffer
	o := newParquetOutput(&file, "test", fs, nil, newCodec())
	b := newBatch(fs, batchRows)
	b.n = size
	for k := range batches {
		for j := range size {
			v := value(k*size + j)
			b.cols[0].ints[j], b.cols[1].floats[j], b.cols[2].texts[j], b.cols[3].ints[j] = v.n, v.x, v.s, v.yes
		}
		if err := o.write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	in, err := newParquetInput(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	err = in.each(func(b *batch) error {
		for j := range b.n {
			got, want := values{b.cols[0].ints[j], b.cols[1].floats[j], b.cols[2].texts[j], b.cols[3].ints[j]},
				value(row)
			if got != want && !(math.IsNaN(got.x) && math.IsNaN(want.x) && got.n == want.n && got.s == want.s) {
				return fmt.Errorf("row %d: %v, want %v", row, got, want)
			}
			row++
		}
		return nil
	})
	if err != nil || row != size*batches {
		t.Errorf("%d rows, want %d; %v", row, size*batches, err)
	}
}
