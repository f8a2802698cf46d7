package sinks

import (
	"errors"
	"io"
)

// Loose is a Parquet file whose columns are known only when it is written: AIPerf's files
// have one for each label that a server used.
type Loose struct {
	out output
	fs  []Field
	b   *batch
	err error
}

// NewLoose begins such a file.
func NewLoose(out io.Writer, name string, fs []Field, meta map[string]string) *Loose {
	return &Loose{out: newParquetOutput(out, name, fs, meta, newCodec()), fs: fs, b: newBatch(fs, batchRows)}
}

// Row adds a row: of each column its text or its number, by its kind; at is the value of
// those of whole numbers.
func (l *Loose) Row(texts []string, numbers []float64, at int64) {
	for i := range l.fs {
		v := &l.b.cols[i]
		switch l.fs[i].Kind {
		case Text:
			v.texts[l.b.n] = texts[i]
		case Float64:
			v.floats[l.b.n] = numbers[i]
		default:
			v.ints[l.b.n] = at
		}
	}
	if l.b.n++; l.b.n == batchRows {
		l.flush()
	}
}

func (l *Loose) flush() {
	l.err = errors.Join(l.err, l.out.write(l.b))
	l.b.n = 0
}

// Close writes what is left.
func (l *Loose) Close() error {
	l.flush()
	return errors.Join(l.err, l.out.close())
}
