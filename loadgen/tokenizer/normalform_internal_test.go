package tokenizer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var forms = []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD}

// Runs of marks of any length have the reference's normal forms, which
// gen/golden wrote: nothing is inserted into them.
func TestLongRunsOfMarks(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("testdata", "longmarks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var head, mark string
		var times int
		var want [4]string // characters and hash of NFC, NFD, NFKC, NFKD
		if err := json.Unmarshal(lines.Bytes(), &[]any{
			&head, &mark, &times, &want[0], &want[1], &want[2],
			&want[3],
		}); err != nil {
			t.Fatal(err)
		}
		text := head + strings.Repeat(mark, times) + "z"
		for i, form := range forms {
			got := normalForm(form)(text)
			h := fnv.New32a()
			h.Write([]byte(got))
			if have := fmt.Sprintf("%d %08x", utf8.RuneCountInString(got), h.Sum32()); have != want[i] {
				t.Errorf("form %d of %+q and %d times %+q: %s, want %s", form, head, times, mark, have, want[i])
			}
		}
	}
	if n < 400 {
		t.Errorf("only %d lines were read", n)
	}
}

// The algorithm for long runs equals the library's on short ones.
func TestSegmentFormEqualsLibrary(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	var all, marks []rune // what a form changes, and what does not begin a segment
	for r := rune(0x300); r <= 0x2fa1d; r++ {
		s := string(r)
		if !utf8.ValidRune(r) {
			continue
		}
		if norm.NFKD.String(s) != s {
			all = append(all, r)
		}
		if !norm.NFKC.PropertiesString(s).BoundaryBefore() {
			all, marks = append(all, r), append(marks, r)
		}
	}
	for _, form := range forms {
		for _, r := range all {
			for _, s := range []string{string(r), "a" + string(r), string(r) + "\u0301\u0323"} {
				if got, want := string(segmentForm(form, s)), form.String(s); got != want {
					t.Errorf("form %d of %+q: %+q, want %+q", form, s, got, want)
				}
			}
			if r >= 0xac00 && r <= 0xd7a3 || r == 0x34f {
				continue // 11,172 syllables that are all alike; and what would be inserted
			}
			if s := formOf(form, strings.Repeat(string(r), 40)); strings.ContainsRune(s, 0x34f) {
				t.Errorf("form %d inserts a character among %+q", form, r)
			}
		}
		rng := rand.New(rand.NewPCG(13, uint64(form)))
		for range 20_000 {
			run := []rune{all[rng.IntN(len(all))]}
			for range rng.IntN(7) {
				if rng.IntN(2) == 0 {
					run = append(run, 0x300+rune(rng.IntN(0x70))) // more likely to be joined
					continue
				}
				run = append(run, marks[rng.IntN(len(marks))])
			}
			s := string(run)
			if got, want := string(segmentForm(form, s)), form.String(s); got != want {
				t.Fatalf("form %d of %+q: %+q, want %+q", form, s, got, want)
			}
		}
	}
}
