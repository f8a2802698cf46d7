package files

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// A row of a CSV or Parquet table is a record whose fields are its columns.
// Cells of a CSV file that read as numbers are numbers.

func eachCSVRow(path string, in io.Reader, comma rune, f func(Record) error) error {
	rows := csv.NewReader(in)
	rows.Comma, rows.ReuseRecord, rows.LazyQuotes = comma, true, true
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	names := make([]string, len(head))
	for i, h := range head {
		names[i] = strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, csv.ErrFieldCount) { // the next row may be whole
			err = f(Record{Place: path, Bad: csvError(path, err, len(names))})
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return csvError(path, err, len(names))
		}
		line, _ := rows.FieldPos(0)
		place := fmt.Sprintf("%s:%d", path, line)
		values := make(map[string]json.RawMessage, len(names))
		size := 0
		for i, cell := range row {
			size += len(cell)
			values[names[i]] = cellValue(cell)
		}
		if err := f(Record{Place: place, Fields: Of(values), Size: size}); err != nil {
			return err
		}
	}
}

// csvError is an error of a table with so many columns, at its line.
func csvError(path string, err error, columns int) error {
	var at *csv.ParseError
	switch {
	case !errors.As(err, &at):
		return fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("%s:%d: the row does not have as many cells as the first line has names (%d)", path, at.Line,
			columns)
	}
	return fmt.Errorf("%s:%d: %w", path, at.Line, at.Err)
}

// cellValue is a cell as JSON; an empty one is null.
func cellValue(cell string) json.RawMessage {
	if cell == "" {
		return json.RawMessage("null")
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil && json.Valid([]byte(cell)) {
		return json.RawMessage(strings.Clone(cell))
	}
	b, _ := json.Marshal(strings.ToValidUTF8(cell, "\ufffd"))
	return b
}

// eachParquetRow reads a Parquet file row by row.
func eachParquetRow(path string, file *os.File, f func(Record) (err error)) (err error) {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	defer func() { // the library panics on some broken files
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not a sound Parquet file: %s", path, secret.Panic(p))
		}
	}()
	table, err := parquet.OpenFile(file, st.Size())
	if err != nil {
		return diag.Errorf("%s: not a sound Parquet file",
			path).Try("was it copied completely? the list of its rows, at its end, is missing or damaged")
	}
	rows := parquet.NewGenericReader[any](table, table.Schema())
	defer rows.Close()
	batch := make([]any, 64)
	for at := 0; ; {
		n, err := rows.Read(batch)
		for _, v := range batch[:n] {
			at++
			if err := tableRow(fmt.Sprintf("%s row %d", path, at), v, f); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s row %d: %w", path, at+1, err)
		}
	}
}

// tableRow makes a record of a row of a Parquet or Arrow file.
func tableRow(place string, v any, f func(Record) error) error {
	b, err := json.Marshal(plainCell(v))
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return f(newRecord(place, b))
}

// Encoded is how bytes that are no text stand in a record: an object with this
// one member, in base64.
const Encoded = "$base64"

// plainCell turns bytes that are text into text and others into base64, and
// lists as Parquet nests them into lists.
func plainCell(v any) any {
	switch v := v.(type) {
	case []byte:
		if utf8.Valid(v) && bytes.IndexByte(v, 0) < 0 {
			return string(v)
		}
		return map[string]any{Encoded: base64.StdEncoding.EncodeToString(v)}
	case string: // of bytes that claim to be text
		return plainCell([]byte(v))
	case map[string]any:
		if list, ok := v["list"].([]any); ok && len(v) == 1 {
			return plainList(list)
		}
		for k := range v {
			v[k] = plainCell(v[k])
		}
		return v
	case []any:
		return plainList(v)
	}
	return v
}

func plainList(list []any) any {
	out := make([]any, len(list))
	for i, e := range list {
		if m, ok := e.(map[string]any); ok && len(m) == 1 {
			for _, name := range []string{"element", "item", "array"} {
				if inner, ok := m[name]; ok {
					e = inner
				}
			}
		}
		out[i] = plainCell(e)
	}
	return out
}
