package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
)

// unknown stands in a receipt for what nobody told.
const unknown = "unknown"

// askedKey is the key of Receipt.Asked in a receipt's JSON.
const askedKey = "asked"

// Receipt is what one run delivered, or a run of several on average (Pool).
type Receipt struct {
	// Asked are the settings that make a workload what it is, as the experiment said them;
	// none where they are not known.
	Asked  []Fact
	values map[string]value // by the names of Fields; what is absent is unknown
}

// Fact is one setting: "datasets.0.prompts.isl.mean" is "512".
type Fact struct{ Name, Value string }

// value is that of a field: a number, or a text where number is NaN.
type value struct {
	number float64
	text   string
}

// New is a receipt of a run of which nothing is known.
func New() *Receipt { return &Receipt{values: map[string]value{}} }

// Number sets a field. NaN and Inf are unknown.
func (r *Receipt) Number(name string, v float64) {
	fieldNamed(name, Numeric)
	if delete(r.values, name); !math.IsNaN(v) && !math.IsInf(v, 0) {
		r.values[name] = value{number: rounded(v)}
	}
}

// Text sets a field; "" is unknown.
func (r *Receipt) Text(name, v string) {
	fieldNamed(name, Textual)
	if delete(r.values, name); v != "" && v != unknown {
		r.values[name] = value{math.NaN(), v}
	}
}

// Flag sets a field that is true or false.
func (r *Receipt) Flag(name string, v bool) { r.Text(name, strconv.FormatBool(v)) }

// Get is a field as receipts and screens show it; false where it is unknown.
func (r *Receipt) Get(name string) (string, bool) {
	v, ok := r.values[name]
	return v.String(), ok
}

// Float is a number; NaN where it is unknown.
func (r *Receipt) Float(name string) float64 {
	if v, ok := r.values[name]; ok {
		return v.number
	}
	return math.NaN()
}

func (v value) String() string {
	if math.IsNaN(v.number) {
		return v.text
	}
	return strconv.FormatFloat(v.number, 'f', -1, 64)
}

// rounded has six significant digits, and all digits of a count.
func rounded(v float64) float64 {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return v
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return v
}

// MarshalJSON gives the canonical form: every field, unknown ones too, in the order of
// their names, without spaces.
func (r *Receipt) MarshalJSON() ([]byte, error) {
	doc := map[string]any{}
	for _, f := range Fields() {
		switch v, ok := r.values[f.Name]; {
		case !ok:
			doc[f.Name] = unknown
		case math.IsNaN(v.number):
			doc[f.Name] = v.text
		default:
			doc[f.Name] = v.number
		}
	}
	doc[askedKey] = unknown
	if len(r.Asked) > 0 {
		asked := map[string]string{}
		for _, f := range r.Asked {
			asked[f.Name] = f.Value
		}
		doc[askedKey] = asked
	}
	b, err := plain(doc, "") // maps in the order of their keys
	return bytes.TrimSpace(b), err
}

// Hash is the SHA-256 of the canonical form.
func (r *Receipt) Hash() string {
	b, err := r.MarshalJSON()
	if err != nil {
		panic(err) // of strings and finite numbers
	}
	return digest(b)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Pool is what several runs of one workload delivered on average. A text in which they
// differ names each once; what is unknown of one is unknown of all.
func Pool(runs []*Receipt) *Receipt {
	if len(runs) == 0 {
		return New()
	}
	out := New()
	out.Asked = runs[0].Asked
	for _, f := range Fields() {
		var texts []string
		sum, known := 0.0, 0
		for _, r := range runs {
			v, ok := r.values[f.Name]
			if !ok {
				break
			}
			known++
			sum += v.number
			if !slices.Contains(texts, v.text) {
				texts = append(texts, v.text)
			}
		}
		switch {
		case known < len(runs):
		case f.Kind == Numeric:
			out.Number(f.Name, sum/float64(known))
		default:
			slices.Sort(texts)
			out.Text(f.Name, joined(texts))
		}
	}
	return out
}
