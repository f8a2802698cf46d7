package cluster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// keeper keeps what a worker sent of the last run until it is given another one: a coordinator
// that takes the place of one that died may ask for it. nil keeps nothing.
type keeper struct {
	part kept
	done done
	file *os.File // messages with records, each after its length; nil for none
	out  *bufio.Writer
	all  bool // the part is whole
}

// kept is what a worker tells of a part that it keeps.
type kept struct {
	Key string `json:"key"` // of the run, and of how many parts it has
	K   int64  `json:"k"`   // which part it is
	T0  int64  `json:"t0"`  // of all parts, in ns since 1970 by the clock of who held them together
}

// begin forgets the last part, and begins another one. What cannot be written is not kept:
// the run does not depend on it.
func (p *keeper) begin(part kept) {
	if p == nil {
		return
	}
	p.drop()
	f, err := os.CreateTemp("", "aiperf-kept-")
	if err != nil {
		return
	}
	p.part, p.file, p.out = part, f, bufio.NewWriter(f)
	_ = os.Remove(f.Name()) // it is there as long as it is open, and on Windows drop removes it
}

// add keeps a message.
func (p *keeper) add(message []byte) {
	if p == nil || p.file == nil {
		return
	}
	_, err := p.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(message))))
	if err == nil {
		_, err = p.out.Write(message)
	}
	if err != nil {
		p.drop()
	}
}

// end says that the part is whole.
func (p *keeper) end(d done) {
	if p == nil || p.file == nil {
		return
	}
	if p.out.Flush() != nil {
		p.drop()
		return
	}
	p.done, p.all = d, true
}

// told is the part that is kept, nil for none.
func (p *keeper) told() *kept {
	if p == nil || !p.all {
		return nil
	}
	part := p.part
	return &part
}

// each hands every message over, the first one first.
func (p *keeper) each(to func(message []byte) error) error {
	if p.told() == nil {
		return errors.New("this worker keeps nothing")
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReader(p.file)
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		message := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(in, message); err != nil {
			return err
		}
		if err := to(message); err != nil {
			return err
		}
	}
}

// drop forgets the part.
func (p *keeper) drop() {
	if p == nil {
		return
	}
	if p.file != nil {
		_, _ = p.file.Close(), os.Remove(p.file.Name())
	}
	*p = keeper{}
}
