package receipt_test

import (
	"encoding/json"
	"testing"

	"aiperf.dev/aiperf/sinks/receipt"
)

// The short way through the canonical form and the long one through any JSON read the same,
// and refuse the same.
func TestFromText(t *testing.T) {
	t.Parallel()
	full := receipt.New()
	full.Text("arrivals.law", "concurrency")
	full.Text("server.name", `a "quoted" name, with ü`)
	full.Number("concurrency.held", 3.995)
	full.Number("requests.attempted", 1e6)
	full.Asked = []receipt.Fact{{Name: "endpoint.type", Value: "chat"}, {Name: "phases.0.requests", Value: "40"}}
	canonical := func(r *receipt.Receipt) string {
		b, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plain := receipt.New()
	plain.Text("arrivals.law", "poisson")
	plain.Number("concurrency.held", -2.5e-7)
	for _, text := range []string{
		canonical(full), canonical(plain), canonical(receipt.New()), `{}`, ``, `{`, `null`, `[]`, `7`,
		`{"arrivals.law":"poisson"}`, `{"arrivals.law":"poisson",}`, `{"arrivals.law":"poisson"}}`, ` {"arrivals.law":"poisson"} `,
		`{"arrivals.law":7}`, `{"concurrency.held":"much"}`, `{"concurrency.held":01}`, `{"concurrency.held":1e999}`,
		`{"concurrency.held":null}`, `{"concurrency.held":Inf}`, `{"concurrency.held":0x1p4}`, `{"concurrency.held":1_0}`,
		`{"arrivals.law":""}`, `{"arrivals.law":"unknown"}`, `{"arrivals.law":"a\u0062"}`, "{\"arrivals.law\":\"a\nb\"}",
		"{\"arrivals.law\":\"a\xffb\"}", `{"of.a.newer.one":"x","of.another":[1,{"a":"}"}]}`, `{"of.a.newer.one":3}`,
		`{"asked":"unknown"}`, `{"asked":{}}`, `{"asked":{"b":"1","a":"2"}}`, `{"asked":{"a":1}}`, `{"asked":{"a":"1","a":"2"}}`,
		`{"arrivals.law":"poisson","arrivals.law":"gamma"}`, `{"concurrency.held":1,"arrivals.law":"gamma"}`,
		`{"arrivals.law":"poisson""concurrency.held":1}`, `{"arrivals.law":"poisson"`, `{"arrivals.law"}`,
	} {
		long := receipt.New()
		err := json.Unmarshal([]byte(text), long)
		short, shortErr := receipt.FromText(text)
		if (err == nil) != (shortErr == nil) {
			t.Errorf("%s: %v, the long way %v", text, shortErr, err)
			continue
		}
		if err == nil && canonical(short) != canonical(long) {
			t.Errorf("%s:\n%s, the long way\n%s", text, canonical(short), canonical(long))
		}
	}
}
