// Package leak tells tests whether goroutines were left behind. One that is ending
// is not left behind, however long a busy machine takes to let it end.
package leak

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// looks is how often goroutines are looked for, each time for about a second.
// Only what is really left behind is there for all of them.
const looks = 60

// Main runs the tests of a package and fails when they leave goroutines behind.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// None fails the test when there are goroutines that are not ignored.
func None(t *testing.T, ignored ...goleak.Option) {
	t.Helper()
	if err := find(ignored...); err != nil {
		t.Error(err)
	}
}

func find(ignored ...goleak.Option) (err error) {
	for range looks {
		if err = goleak.Find(ignored...); err == nil {
			return nil
		}
	}
	return err
}
