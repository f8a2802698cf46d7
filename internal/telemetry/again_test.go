package telemetry

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// A source whose pages are read one after the other says of each what Parse says of it alone:
// families of all types, values that come, go and are not finite, lines that are new or gone.
func TestPagesReadAsParse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		var p pages
		shapes, lines := 0, pageLines(r)
		for range 12 {
			if r.IntN(6) == 0 {
				lines = pageLines(r)
			}
			var b strings.Builder
			for _, l := range lines {
				if strings.HasPrefix(l, "#") {
					fmt.Fprintln(&b, l)
				} else {
					fmt.Fprintln(&b, l, pageValue(r))
				}
			}
			body := []byte(b.String())
			want, wantErr := Parse(body)
			if p.shape != nil && p.shape.with(body) != nil {
				shapes++
			}
			got, err := p.read(body)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %+v %v, want %+v %v of\n%s", seed, got, err, want, wantErr, body)
			}
		}
		if seed == 0 && shapes == 0 {
			t.Error("no page was read by its shape")
		}
	}
}

func pageLines(r *rand.Rand) (out []string) {
	for f := range 1 + r.IntN(4) {
		switch name := fmt.Sprint("m", f); r.IntN(5) {
		case 0:
			out = append(out, "# HELP "+name+" Help.", "# TYPE "+name+" gauge", name, name+`{b="2",a="x y"}`)
		case 1:
			out = append(out, "# TYPE "+name+"_total counter", name+"_total{e=\"0\"}", name+"_created{e=\"0\"}")
		case 2:
			out = append(out, "# TYPE "+name+" histogram", name+`_bucket{le="1"}`, name+`_bucket{le="+Inf"}`, name+"_sum")
			if r.IntN(2) == 0 {
				out = append(out, name+"_count")
			}
		case 3:
			out = append(out, "# TYPE "+name+" summary", name+`{quantile="0.5"}`, name+`{quantile="0.9"}`,
				name+"_count", name+"_sum")
		default:
			out = append(out, name+`{le="1"}`)
			if r.IntN(8) == 0 {
				out = append(out, name+`{le="1"}`)
			}
		}
	}
	return out
}

func pageValue(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0:
		return "NaN"
	case 1:
		return "+Inf"
	case 2:
		return "-1"
	case 3:
		return "1.5"
	case 4:
		return "1e400"
	case 5:
		return "0x1p3"
	case 6:
		return "7 1700000000000"
	case 7:
		return "x"
	}
	return fmt.Sprint(r.IntN(1000))
}

// FuzzPages reads any page twice and another one after it.
func FuzzPages(f *testing.F) {
	f.Add([]byte("a 1\n"), []byte("a 2\n"))
	f.Add([]byte("# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_sum 1\n"), []byte("# TYPE h histogram\nh_bucket{le=\"1\"} 3\nh_sum 2\n"))
	f.Add([]byte("# TYPE s summary\ns{quantile=\"x\"} 1\ns_count 2\n"), []byte("# TYPE s summary\ns{quantile=\"x\"} 1\ns_count 2.5\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var p pages
		for _, body := range [][]byte{a, a, a, b, b} {
			want, wantErr := Parse(body)
			if got, err := p.read(body); fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %+v %v, want %+v %v", body, got, err, want, wantErr)
			}
		}
	})
}
