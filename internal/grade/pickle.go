package grade

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxUnpacked bounds what compressed tests may become, in bytes.
const maxUnpacked = 256 << 20

// unpacked is the text inside base64, zlib and a pickle of one text.
func unpacked(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(strip(text))
	if err != nil {
		return "", err
	}
	z, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err != nil {
		return "", err
	}
	if len(plain) > maxUnpacked {
		return "", fmt.Errorf("more than %d MiB", maxUnpacked>>20)
	}
	return pickled(plain)
}

// errPickle is said of any pickle that holds more than one text: a pickle is a program,
// and this is no machine for it.
var errPickle = errors.New("not a pickle of one text")

// The opcodes of Python's pickle that one text needs.
const (
	opProto      = 0x80
	opFrame      = 0x95
	opShortText  = 0x8c
	opText       = 'X'
	opLongText   = 0x8d
	opMemoize    = 0x94
	opBinPut     = 'q'
	opLongBinPut = 'r'
	opStop       = '.'
)

// widths are how many bytes of an argument follow an opcode.
var widths = map[byte]uint64{
	opProto: 1, opFrame: 8, opShortText: 1, opText: 4, opLongText: 8, opBinPut: 1, opLongBinPut: 4,
}

// pickled reads a pickle of one text.
func pickled(b []byte) (string, error) {
	text, found := "", false
	take := func(n uint64) []byte {
		if n > uint64(len(b)) {
			return nil
		}
		out := b[:n:n]
		b = b[n:]
		return out
	}
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		width := widths[op]
		argument := take(width)
		if width > 0 && argument == nil {
			return "", errPickle
		}
		switch op {
		case opProto, opFrame, opMemoize, opBinPut, opLongBinPut:
		case opShortText, opText, opLongText:
			n := binary.LittleEndian.Uint64(append(bytes.Clone(argument), make([]byte, 8-width)...))
			inside := take(n)
			if found || inside == nil && n > 0 {
				return "", errPickle
			}
			text, found = string(inside), true
		case opStop:
			if !found || len(b) > 0 {
				return "", errPickle
			}
			return text, nil
		default:
			return "", errPickle
		}
	}
	return "", errPickle
}
