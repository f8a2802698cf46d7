package onerun

import (
	"bytes"
	"encoding/gob"

	"aiperf.dev/aiperf/internal/record"
)

// pack is what exchangers rendered, for who keeps it in another process; nil for nothing.
func (s *observers) pack(rendered any) []byte {
	each, _ := rendered.([]any)
	if each == nil {
		return nil
	}
	var b bytes.Buffer
	to := gob.NewEncoder(&b)
	for i, one := range each {
		if one == nil {
			one = s.exchangers[i].Blank()
		}
		if err := to.Encode(one); err != nil {
			panic("onerun: " + err.Error()) // plain data of exchangers
		}
	}
	return b.Bytes()
}

// unpack hands on what another process rendered. What cannot be read is an error: it would be
// missing in files.
func (s *observers) unpack(rec *record.Record, packed []byte) error {
	if packed == nil {
		return nil
	}
	from := gob.NewDecoder(bytes.NewReader(packed))
	for _, o := range s.exchangers {
		one := o.Blank()
		if err := from.Decode(one); err != nil {
			return err
		}
		o.Keep(rec, one)
	}
	return nil
}
