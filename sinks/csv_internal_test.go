package sinks

import (
	"bytes"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// Columns of one value and columns that differ change places from batch to
// batch; the rows do not show it.
func TestCSVRows(t *testing.T) {
	t.Parallel()
	fs := []Field{{Name: "who", Kind: Text, Null: true}, {Name: "n", Kind: Int64, Null: true}, {Name: "ok", Kind: Bool}}
	columns := func(who []string, n, ok []int64) *batch {
		return &batch{n: len(n), cols: []vector{{texts: who}, {ints: n}, {ints: ok}}}
	}
	none := int64(record.None)
	var out bytes.Buffer
	o := newCSVOutput(&out, "runs", fs)
	for _, b := range []*batch{
		columns([]string{"a", "a"}, []int64{1, 2}, []int64{1, 1}),
		columns([]string{"a", "b,c"}, []int64{none, none}, []int64{0, 1}),
		columns([]string{"", ""}, []int64{7, 7}, []int64{0, 0}),
		columns(nil, nil, nil),
		columns([]string{"x", ""}, []int64{none, 3}, []int64{1, 0}),
		columns([]string{"y"}, []int64{4}, []int64{1}),
	} {
		if err := o.write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	want := "who,n,ok\r\na,1,true\r\na,2,true\r\na,,false\r\n\"b,c\",,true\r\n,7,false\r\n,7,false\r\nx,,true\r\n,3,false\r\ny,4,true\r\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// What a server or a person says is no formula of a spreadsheet; numbers are numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	fs := []Field{{Name: "=axis", Kind: Text, Null: true}}
	var out bytes.Buffer
	o := newCSVOutput(&out, "runs", fs)
	texts := []string{"=1+1", "+cmd", "-2+3", "@SUM(A1)", "-1.5", "+4", "a=b", "=cmd|'/c calc'!A0,x"}
	if err := o.write(&batch{n: len(texts), cols: []vector{{texts: texts}}}); err != nil {
		t.Fatal(err)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	want := "'=axis\r\n'=1+1\r\n'+cmd\r\n'-2+3\r\n'@SUM(A1)\r\n-1.5\r\n+4\r\na=b\r\n\"'=cmd|'/c calc'!A0,x\"\r\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// Moments have nine digits of the second, closing zeros included.
func TestCSVMoments(t *testing.T) {
	t.Parallel()
	for _, x := range []int64{
		0, 1, -1, 999_999_999, 1_700_000_000_000_000_000, 1_700_000_000_120_000_000,
		1_700_000_000_000_000_007,
	} {
		want := time.Unix(0, x).UTC().Format("2006-01-02T15:04:05.000000000Z")
		if got := string(appendTime(nil, x)); got != want {
			t.Errorf("%d ns: %s, want %s", x, got, want)
		}
	}
}
