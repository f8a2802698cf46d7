package rpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// kserve is the Open Inference Protocol's ModelInfer over gRPC, spoken with the
// JSON of the same protocol over HTTP: fields by the numbers of the published
// grpc_service.proto.
type kserve struct {
	model  string
	stream bool // ModelStreamInfer, Triton's addition
}

// The methods that take the place of HTTP paths of the Open Inference Protocol.
const (
	kserveInfer  = "/inference.GRPCInferenceService/ModelInfer"
	kserveStream = "/inference.GRPCInferenceService/ModelStreamInfer"
)

// kserveOf is the method for an HTTP path /v2/models/NAME/infer, or
// …/stream_infer, which stands for the method alone: HTTP has no such path.
func kserveOf(path string) (Method, bool) {
	_, rest, ok := strings.Cut(path, "/v2/models/")
	if !ok {
		return Method{}, false
	}
	name, verb, _ := strings.Cut(rest, "/")
	model, err := url.PathUnescape(name)
	switch {
	case err != nil || model == "":
		return Method{}, false
	case verb == "infer":
		return Method{Path: kserveInfer, codec: kserve{model: model}}, true
	case verb == "stream_infer":
		return Method{Path: kserveStream, Stream: true, codec: kserve{model, true}}, true
	}
	return Method{}, false
}

type tensor struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype"`
	Shape      []int64        `json:"shape"`
	Data       any            `json:"data"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// Encode turns the JSON request into a message.
func (k kserve) Encode(body []byte) ([]byte, error) {
	var req struct {
		ID         string
		Inputs     []tensor
		Outputs    []tensor
		Parameters map[string]any
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	b := text(text(nil, 1, k.model), 3, req.ID)
	b, err := parameters(b, 4, req.Parameters)
	if err != nil {
		return nil, err
	}
	for i := range req.Inputs {
		one, err := encodeTensor(&req.Inputs[i])
		if err != nil {
			return nil, err
		}
		b = nested(b, 5, one)
	}
	for _, o := range req.Outputs {
		b = nested(b, 6, text(nil, 1, o.Name))
	}
	return b, nil
}

func encodeTensor(t *tensor) ([]byte, error) {
	b := text(text(nil, 1, t.Name), 2, t.Datatype)
	for _, n := range t.Shape {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(n))
	}
	b, err := parameters(b, 4, t.Parameters)
	if err != nil {
		return nil, err
	}
	var contents []byte
	if err := eachValue(t.Data, func(v any) (err error) {
		contents, err = appendValue(contents, t.Datatype, v)
		return err
	}); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
	}
	return nested(b, 5, contents), nil
}

// eachValue goes through nested lists.
func eachValue(v any, f func(any) error) error {
	list, ok := v.([]any)
	if !ok {
		return f(v)
	}
	for _, e := range list {
		if err := eachValue(e, f); err != nil {
			return err
		}
	}
	return nil
}

// appendValue adds an element to the contents of its data type.
func appendValue(b []byte, datatype string, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		return nested(b, 8, []byte(x)), nil
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), protowire.EncodeBool(x)), nil
	case json.Number:
		varint := func(field protowire.Number) []byte {
			return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), whole(x))
		}
		f, _ := x.Float64() // what is too large is infinite
		switch datatype {
		case "INT8", "INT16", "INT32":
			return varint(2), nil
		case "INT64":
			return varint(3), nil
		case "UINT8", "UINT16", "UINT32":
			return varint(4), nil
		case "UINT64":
			return varint(5), nil
		case "FP32":
			return protowire.AppendFixed32(protowire.AppendTag(b, 6, protowire.Fixed32Type),
				math.Float32bits(float32(f))), nil
		case "FP64":
			return protowire.AppendFixed64(protowire.AppendTag(b, 7, protowire.Fixed64Type), math.Float64bits(f)), nil
		}
	}
	return nil, fmt.Errorf("data type %s does not take %v", datatype, v)
}

// isWhole reports whether a number is a whole one, as 2, 2.0 and 2e3 are.
func isWhole(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}

// whole is a number as a varint, digit for digit where it is a whole one.
func whole(n json.Number) uint64 {
	if i, err := n.Int64(); err == nil {
		return uint64(i)
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u
	}
	f, _ := n.Float64()
	return uint64(int64(f))
}

// parameters adds a map of named values.
func parameters(b []byte, field protowire.Number, all map[string]any) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		var value []byte
		switch x := v.(type) {
		case bool:
			value = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeBool(x))
		case string:
			value = nested(nil, 3, []byte(x))
		case json.Number:
			if f, err := x.Float64(); isWhole(x) {
				value = protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), whole(x))
			} else if err == nil {
				value = protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), math.Float64bits(f))
			} else {
				return nil, fmt.Errorf("parameter %s: %v is out of range", name, v)
			}
		default:
			return nil, fmt.Errorf("parameter %s: %v is not a text, a number or a truth value", name, v)
		}
		b = nested(b, field, nested(nested(nil, 1, []byte(name)), 2, value))
	}
	return b, nil
}

func nested(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// text adds a text field unless it is empty.
func text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// DecodeRequest is the other side of Encode: the model that a ModelInferRequest
// is for, and the JSON of the HTTP protocol.
func DecodeRequest(message []byte) (model string, body []byte, err error) {
	var req struct {
		ID         string         `json:"id,omitempty"`
		Parameters map[string]any `json:"parameters,omitempty"`
		Inputs     []tensor       `json:"inputs"`
	}
	var raw [][]byte
	err = fields(message, func(n protowire.Number, _ uint64, content []byte) error {
		switch n {
		case 1:
			model = string(content)
		case 3:
			req.ID = string(content)
		case 4:
			name, value, err := decodeParameter(content)
			if req.Parameters == nil {
				req.Parameters = map[string]any{}
			}
			req.Parameters[name] = value
			return err
		case 5:
			t, err := decodeTensor(content)
			req.Inputs = append(req.Inputs, t)
			return err
		case 7:
			raw = append(raw, content)
		}
		return nil
	})
	if err == nil {
		err = fillRaw(req.Inputs, raw)
	}
	if err != nil {
		return "", nil, err
	}
	body, err = json.Marshal(req)
	return model, body, err
}

// EncodeAnswer is the other side of Decode: a ModelInferResponse of the JSON of
// the HTTP protocol, in a ModelStreamInferResponse if it is one of a stream.
func EncodeAnswer(body []byte, stream bool) ([]byte, error) {
	var a struct {
		Model      string `json:"model_name"`
		Version    string `json:"model_version"`
		ID         string
		Parameters map[string]any
		Outputs    []tensor
		Error      json.RawMessage
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&a); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	if len(a.Error) > 0 && stream {
		said := struct{ Message string }{string(a.Error)}
		_ = json.Unmarshal(a.Error, &said) // an error without a message is said as it stands
		return text(nil, 1, said.Message), nil
	}
	b := text(text(text(nil, 1, a.Model), 2, a.Version), 3, a.ID)
	b, err := parameters(b, 4, a.Parameters)
	if err != nil {
		return nil, err
	}
	for i := range a.Outputs {
		one, err := encodeTensor(&a.Outputs[i])
		if err != nil {
			return nil, err
		}
		b = nested(b, 5, one)
	}
	if stream {
		b = nested(nil, 2, b)
	}
	return b, nil
}

// Decode turns a ModelInferResponse, or the ModelStreamInferResponse around
// one, into the JSON of the HTTP protocol.
func (k kserve) Decode(dst, message []byte) ([]byte, error) {
	if !k.stream {
		return decodeAnswer(dst, message)
	}
	var problem string
	var inner []byte
	err := fields(message, func(n protowire.Number, _ uint64, content []byte) error {
		switch n {
		case 1:
			problem = string(content)
		case 2:
			inner = content
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if problem != "" {
		b, err := json.Marshal(map[string]string{"error": problem})
		return append(dst, b...), err
	}
	return decodeAnswer(dst, inner)
}

func decodeAnswer(dst, message []byte) ([]byte, error) {
	var out struct {
		Model      string         `json:"model_name"`
		ID         string         `json:"id,omitempty"`
		Parameters map[string]any `json:"parameters,omitempty"`
		Outputs    []tensor       `json:"outputs"`
	}
	out.Outputs = []tensor{}
	var raw [][]byte
	err := fields(message, func(n protowire.Number, _ uint64, content []byte) error {
		switch n {
		case 1:
			out.Model = string(content)
		case 3:
			out.ID = string(content)
		case 4:
			name, v, err := decodeParameter(content)
			if out.Parameters == nil {
				out.Parameters = map[string]any{}
			}
			out.Parameters[name] = v
			return err
		case 5:
			t, err := decodeTensor(content)
			out.Outputs = append(out.Outputs, t)
			return err
		case 6:
			raw = append(raw, content)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := fillRaw(out.Outputs, raw); err != nil {
		return nil, err
	}
	b, err := json.Marshal(out)
	return append(dst, b...), err
}

// fillRaw gives tensors the values that came apart from them, as memory.
func fillRaw(tensors []tensor, raw [][]byte) (err error) {
	for i := range min(len(raw), len(tensors)) {
		t := &tensors[i]
		if t.Data, err = rawValues(t.Datatype, raw[i]); err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
	}
	return nil
}

// decodeParameter reads an entry of a map of named values.
func decodeParameter(b []byte) (name string, value any, err error) {
	err = fields(b, func(n protowire.Number, _ uint64, content []byte) error {
		if n == 1 {
			name = string(content)
			return nil
		}
		return fields(content, func(n protowire.Number, v uint64, content []byte) error {
			switch n {
			case 1:
				value = v != 0
			case 2:
				value = int64(v)
			case 3:
				value = string(content)
			case 4:
				if f := math.Float64frombits(v); f-f == 0 { // JSON has no other numbers
					value = f
				}
			case 5:
				value = v
			}
			return nil
		})
	})
	return name, value, err
}

func decodeTensor(b []byte) (t tensor, err error) {
	data := []any{}
	err = fields(b, func(n protowire.Number, v uint64, content []byte) error {
		switch n {
		case 1:
			t.Name = string(content)
		case 2:
			t.Datatype = string(content)
		case 3:
			packed(content, v, func(v uint64) { t.Shape = append(t.Shape, int64(v)) })
		case 5:
			return fields(content, func(n protowire.Number, v uint64, c []byte) error {
				data = appendContents(data, n, v, c)
				return nil
			})
		}
		return nil
	})
	t.Data = data
	return t, err
}

// appendContents takes the values of one field of InferTensorContents.
func appendContents(data []any, n protowire.Number, v uint64, content []byte) []any {
	switch n {
	case 1:
		packed(content, v, func(v uint64) { data = append(data, v != 0) })
	case 2, 3:
		packed(content, v, func(v uint64) { data = append(data, int64(v)) })
	case 4, 5:
		packed(content, v, func(v uint64) { data = append(data, v) })
	case 6:
		if content == nil {
			return append(data, math.Float32frombits(uint32(v)))
		}
		for ; len(content) >= 4; content = content[4:] {
			data = append(data, math.Float32frombits(binary.LittleEndian.Uint32(content)))
		}
	case 7:
		if content == nil {
			return append(data, math.Float64frombits(v))
		}
		for ; len(content) >= 8; content = content[8:] {
			data = append(data, math.Float64frombits(binary.LittleEndian.Uint64(content)))
		}
	case 8:
		data = append(data, string(content))
	}
	return data
}

// packed calls f for each number of a repeated field, packed or not.
func packed(content []byte, v uint64, f func(uint64)) {
	if content == nil {
		f(v)
		return
	}
	for len(content) > 0 {
		v, n := protowire.ConsumeVarint(content)
		if n < 0 {
			return
		}
		f(v)
		content = content[n:]
	}
}

// rawValues reads a tensor that was sent as its memory: numbers little endian,
// texts with their lengths before them.
func rawValues(datatype string, b []byte) (data []any, err error) {
	size := rawSizes[datatype]
	data = []any{}
	for len(b) > 0 {
		n := size
		if datatype == "BYTES" {
			if len(b) < 4 {
				return nil, fmt.Errorf("raw contents end inside a length")
			}
			n = int(binary.LittleEndian.Uint32(b))
			b = b[4:]
		} else if size == 0 {
			return nil, fmt.Errorf("data type %s is not read", datatype)
		}
		if n < 0 || n > len(b) {
			return nil, fmt.Errorf("raw contents end inside a value")
		}
		data = append(data, rawValue(datatype, b[:n]))
		b = b[n:]
	}
	return data, nil
}

// rawSizes are the bytes of one number of each data type.
var rawSizes = map[string]int{
	"FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "UINT8": 1,
	"UINT16": 2, "UINT32": 4, "UINT64": 8, "BOOL": 1,
}

// half is the value of an IEEE 754 binary16.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // subnormal: fraction × 2^-24
		f := float32(fraction) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(f))
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

func rawValue(datatype string, b []byte) any {
	switch datatype {
	case "FP16":
		return half(binary.LittleEndian.Uint16(b))
	case "BF16": // the upper half of a binary32
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
	case "FP32":
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case "FP64":
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case "INT32":
		return int32(binary.LittleEndian.Uint32(b))
	case "UINT32":
		return binary.LittleEndian.Uint32(b)
	case "INT64":
		return int64(binary.LittleEndian.Uint64(b))
	case "UINT64":
		return binary.LittleEndian.Uint64(b)
	case "INT16":
		return int16(binary.LittleEndian.Uint16(b))
	case "UINT16":
		return binary.LittleEndian.Uint16(b)
	case "INT8":
		return int8(b[0])
	case "UINT8":
		return b[0]
	case "BOOL":
		return b[0] != 0
	}
	return string(b)
}

// fields goes through the fields of a message: numbers in v, the rest in
// content.
func fields(b []byte, f func(n protowire.Number, v uint64, content []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var content []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(b)
			v = uint64(w)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
			if content == nil {
				content = []byte{}
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(num, v, content); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
