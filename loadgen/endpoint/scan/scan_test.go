package scan_test

import (
	"encoding/json"
	"testing"

	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// A scanner takes what encoding/json takes, and reads texts as it does.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		``, ` `, `null`, `tru`, `-0.5e+3`, `01`, `1.`, `"a"`, `"\ud83d\ude00\ud83d"`, "\"\xff\"", "\"\x01\"", `"\x"`,
		`[]`, `[1,]`, `[1 2]`, `{}`, `{"a":1,"a":[{}]}`, `{"a"}`, `{"a":1,}`,
		`{} {}`, "\t{ \"a\" : [ true , \"\\u00e9\" ] }\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scan.Scanner{Data: data}
		err := s.Skip()
		if err == nil {
			err = s.End()
		}
		if valid := json.Valid(data); valid != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %t", data, err, valid)
		}
		var want string
		if err != nil || json.Unmarshal(data, &want) != nil {
			return
		}
		s = scan.Scanner{Data: data}
		if got, err := s.Text(); err != nil || got != want {
			t.Errorf("Text(%q) = %q, %v; want %q", data, got, err, want)
		}
	})
}
