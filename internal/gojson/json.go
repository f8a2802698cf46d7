// Package json is the standard library's encoding/json under the name that Arrow's library knows.
//
// Arrow prints arrays as JSON by github.com/goccy/go-json, whose five virtual machines take a
// fourteenth of the time in which this program compiles, and this program never prints an
// array so. go.mod puts this module in its place. It holds the names that arrow/internal/json
// uses in v17; one more would be an error of the compiler.
package json

import (
	"encoding/json"
	"io"
)

// What Arrow's types implement and take.
type (
	Decoder            = json.Decoder
	Encoder            = json.Encoder
	Marshaler          = json.Marshaler
	Unmarshaler        = json.Unmarshaler
	Delim              = json.Delim
	Number             = json.Number
	RawMessage         = json.RawMessage
	UnmarshalTypeError = json.UnmarshalTypeError
)

// Marshal is json.Marshal.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal is json.Unmarshal.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// NewDecoder is json.NewDecoder.
func NewDecoder(r io.Reader) *Decoder { return json.NewDecoder(r) }

// NewEncoder is json.NewEncoder.
func NewEncoder(w io.Writer) *Encoder { return json.NewEncoder(w) }
