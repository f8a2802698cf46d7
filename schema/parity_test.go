package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// readElsewhere are fields that no struct holds, and why not.
var readElsewhere = map[string]string{
	"schema_version":               "checked while reading",
	"benchmark":                    "Resolved.Benchmark",
	"sweep":                        "Document.Sweep",
	"benchmark.endpoint.transport": "takes one value",
}

// heldBefore are fields that a struct holds although the schema refuses them
// so far, and why.
var heldBefore = map[string]string{
	"benchmark.tokenizer.revision": "the caches of a hub are searched by it",
}

// The Go structs and the CUE definitions have the same members: what the
// schema declares as built, a struct holds; what a struct holds, the schema
// declares.
func TestParity(t *testing.T) {
	t.Parallel()
	x := fields.New()
	for path, v := range map[string]any{"": Experiment{}, "benchmark": Benchmark{}} {
		parity(t, x, path, reflect.TypeOf(v))
	}
}

func parity(t *testing.T, x fields.Table, path string, typ reflect.Type) {
	t.Helper()
	l := x[path]
	if l == nil {
		t.Errorf("%s: %v has no definition", path, typ)
		return
	}
	var inGo []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue // nobody writes it
		}
		inGo = append(inGo, name)
		sub := x[source.Join(path, name)]
		if typ == reflect.TypeFor[Shape]() && name == "weight" {
			continue // of a peak, see forms.go
		}
		if sub == nil {
			t.Errorf("%s: %v.%s is not in the schema", source.Join(path, name), typ, f.Name)
			continue
		}
		if sub.Has(fields.IsUnsupported) && heldBefore[sub.Path] == "" {
			t.Errorf("%s is marked as not built, yet %v.%s holds it", sub.Path, typ, f.Name)
		}
		below(t, x, sub.Path, f.Type)
	}
	for _, name := range l.Keys {
		sub := x[source.Join(path, name)]
		if sub.Lower == "" && !sub.Has(fields.IsUnsupported) && !slices.Contains(inGo, name) &&
			!allUnbuilt(x, sub) && readElsewhere[sub.Path] == "" {
			t.Errorf("%s is built, and no field of %v holds it", sub.Path, typ)
		}
	}
}

// below compares what a field's type is made of.
func below(t *testing.T, x fields.Table, path string, typ reflect.Type) {
	t.Helper()
	for {
		switch {
		case typ == reflect.TypeFor[Shape]() && strings.HasSuffix(path, ".peaks.*"),
			typ == reflect.TypeFor[RateSeries](), typ == reflect.TypeFor[Exports](),
			typ == reflect.TypeFor[Members](), typ == reflect.TypeFor[Headers]():
			return // they read themselves; forms_test.go and members_test.go compare
		case typ.Kind() == reflect.Pointer:
			typ = typ.Elem()
		case typ.Kind() == reflect.Slice:
			typ, path = typ.Elem(), path+".*"
		case typ.Kind() == reflect.Map:
			typ, path = typ.Elem(), path+".+"
		case typ.Kind() == reflect.Struct:
			parity(t, x, path, typ)
			return
		default:
			return
		}
	}
}

// allUnbuilt reports whether nothing below a field is built.
func allUnbuilt(x fields.Table, l *fields.Leaf) bool {
	if len(l.Keys) == 0 {
		return false
	}
	for _, k := range l.Keys {
		if sub := x[source.Join(l.Path, k)]; sub.Lower == "" && !sub.Has(fields.IsUnsupported) && !allUnbuilt(x, sub) {
			return false
		}
	}
	return true
}
