package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// A file is read as a stream: of the values of its top-level objects only what a reader
// asks for is held in memory.

// deepestValue bounds how deep the values of a file may nest.
const deepestValue = 100

// eachObject calls visit at the first member of each top-level object of a file: one, or
// one a line.
func eachObject(path string, visit func(n int, d *json.Decoder) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(fromPython(f))
	for n := 0; ; n++ {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return damaged(d, err)
		case t != json.Delim('{'):
			return fmt.Errorf("byte %d: a JSON object was expected", d.InputOffset())
		}
		if err := visit(n, d); err != nil {
			return damaged(d, err)
		}
	}
}

// members calls visit for each member of the object that d has begun, and takes its end.
// visit reads the value whole, or says that it has not: then it is skipped.
func members(d *json.Decoder, visit func(key string) (read bool, err error)) error {
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return errors.New("a name was expected")
		}
		read, err := visit(key)
		if err == nil && !read {
			err = skip(d)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token() // }
	return err
}

// items calls visit before each item of the array that comes next; null is an empty one.
func items(d *json.Decoder, visit func(i int) error) error {
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return errors.New("a list was expected")
	}
	for i := 0; d.More(); i++ {
		if err := visit(i); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// skip passes over the value that comes next.
func skip(d *json.Decoder) error {
	depth := 0
	for {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > deepestValue {
				return errors.New("nested too deeply")
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// number reads the number that comes next; NaN for anything else, which it passes over.
func number(d *json.Decoder) (float64, error) {
	t, err := d.Token()
	switch v := t.(type) {
	case float64:
		return v, err
	case json.Delim:
		for d.More() {
			if err := skip(d); err != nil {
				return math.NaN(), err
			}
			if v == '{' { // that was the name
				if err := skip(d); err != nil {
					return math.NaN(), err
				}
			}
		}
		_, err = d.Token()
	}
	return math.NaN(), err
}

// numbers reads a list of numbers.
func numbers(d *json.Decoder) (out []float64, err error) {
	err = items(d, func(int) error {
		v, err := number(d)
		out = append(out, v)
		return err
	})
	return out, err
}

// damaged says where a file stops being JSON.
func damaged(d *json.Decoder, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ends in the middle, at byte %d: it was cut off", d.InputOffset())
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: no JSON: %w", syntax.Offset, err)
	}
	return err
}
