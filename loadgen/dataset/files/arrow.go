package files

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// What Arrow files begin with: those that are read at any place, and those that
// are written as a stream.
const (
	arrowMagic  = "ARROW1\x00\x00"
	arrowStream = "\xff\xff\xff\xff"
)

// batches are the record batches of an Arrow file, one after the other.
type batches interface {
	Read() (arrow.Record, error)
}

// eachArrowRow reads an Arrow IPC file row by row; one batch is in memory.
func eachArrowRow(path string, file *os.File, f func(Record) error) (err error) {
	defer func() { // the library panics on some broken files
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not a sound Arrow file: %s", path, secret.Panic(p))
		}
	}()
	in, err := openArrow(file)
	if err != nil {
		return diag.Errorf("%s: not a sound Arrow file",
			path).Try("was it copied completely? the list of its rows, at its end, is missing or damaged")
	}
	at := 0
	for {
		batch, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s row %d: %w", path, at+1, err)
		}
		for i := range int(batch.NumRows()) {
			at++
			row := make(map[string]any, batch.NumCols())
			for k, column := range batch.Columns() {
				row[batch.ColumnName(k)] = column.GetOneForMarshal(i)
			}
			if err := tableRow(fmt.Sprintf("%s row %d", path, at), row, f); err != nil {
				return err
			}
		}
	}
}

func openArrow(file *os.File) (batches, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	head := make([]byte, len(arrowMagic))
	if _, err := io.ReadFull(file, head); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if string(head) == arrowMagic {
		return ipc.NewFileReader(file)
	}
	return ipc.NewReader(file)
}
