package format

import (
	"errors"
	"strconv"
	"strings"
)

// hashList is hashes of blocks: 64 bits each, written with or without a sign.
type hashList []uint64

// UnmarshalJSON reads a list of whole numbers. It is where the time goes when a
// trace is read, so it does without a decoder's steps for each number.
func (h *hashList) UnmarshalJSON(b []byte) error {
	list := (*h)[:0]
	if len(b) < 2 || b[0] != '[' {
		return errHashes
	}
	for at := 1; ; at++ { // b is JSON: a bracket ends it
		for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
			at++
		}
		if b[at] == ']' && len(list) == 0 {
			break
		}
		start := at
		for at < len(b) && strings.IndexByte("0123456789-", b[at]) >= 0 {
			at++
		}
		id, err := hashOf(b[start:at])
		if err != nil {
			return err
		}
		list = append(list, id)
		for b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r' {
			at++
		}
		if b[at] == ']' {
			break
		}
		if b[at] != ',' {
			return errHashes
		}
	}
	*h = list
	return nil
}

var errHashes = errors.New("want a list of whole numbers")

// hashOf is one hash.
func hashOf(digits []byte) (uint64, error) {
	if len(digits) == 0 {
		return 0, errHashes
	}
	if digits[0] == '-' {
		v, err := strconv.ParseInt(string(digits), 10, 64)
		return uint64(v), err
	}
	if len(digits) > 18 { // the rest cannot be above 64 bits
		return strconv.ParseUint(string(digits), 10, 64)
	}
	var v uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errHashes
		}
		v = v*10 + uint64(c-'0')
	}
	return v, nil
}
