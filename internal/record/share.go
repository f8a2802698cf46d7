package record

import "fmt"

// Share is the part of a run that one worker carries out: number K, from 0, of Of.
// The zero value is the whole run. Shares number their requests without asking each
// other, and no two alike.
type Share struct {
	K  int64 `json:"k"`
	Of int64 `json:"of"`
}

// ID is the number in the run of the request that the worker sends as its local-th,
// from 0: local·Of + K.
func (s Share) ID(local int64) int64 { return local*max(s.Of, 1) + s.K }

// Has reports whether the i-th thing that is dealt out, from 0, is the share's.
func (s Share) Has(i int64) bool { return s.Of <= 1 || i%s.Of == s.K }

// Count is how many of n things that are dealt out are the share's.
func (s Share) Count(n int64) int64 {
	if s.Of <= 1 {
		return n
	}
	return (n - s.K + s.Of - 1) / s.Of
}

// Check says what is wrong with s.
func (s Share) Check() error {
	if s.K < 0 || s.K >= max(s.Of, 1) {
		return fmt.Errorf("share %d of %d: a share is one of 0 to %d", s.K, s.Of, max(s.Of, 1)-1)
	}
	return nil
}
