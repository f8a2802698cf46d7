package files_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// FuzzNew holds the entries of an object against those that encoding/json
// finds.
func FuzzNew(f *testing.F) {
	for _, s := range []string{
		`{}`, `{ }`, `{"a":1}`, ` {"a":1}`, `{"a" : [1, {"b": "]"}] , "c":"\"}"}`, `{"a":null,"a":2}`,
		`{"a":1,"a":null}`, `{"a\u0062":"x","ab":-1.5e3}`,
		"{\"\xff\":true}", `{"a":{}}x`, `{"a"}`, `{"a":1,}`, `{"a":"\\"}`, "{\n\t\"a\"\r:\n false\t}", `[1]`, `{"":""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		err := json.Unmarshal(data, &want)
		got, gotErr := files.New(data)
		if len(data) == 0 || data[0] != '{' {
			if gotErr == nil {
				t.Fatalf("%q is no object and was read", data)
			}
			return
		}
		if (err == nil) != (gotErr == nil) {
			t.Fatalf("%q: error %v, encoding/json says %v", data, gotErr, err)
		}
		if err != nil {
			return
		}
		maps.DeleteFunc(want, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		if names := slices.Sorted(maps.Keys(want)); !slices.Equal(got.Names(), names) ||
			!slices.Equal(got.Unused(), names) {
			t.Fatalf("%q: names %q, unused %q, want %q", data, got.Names(), got.Unused(), names)
		}
		for name, v := range want {
			if string(got.Value(name)) != string(v) {
				t.Fatalf("%q: %s is %q, want %q", data, name, got.Value(name), v)
			}
		}
	})
}
