package plugin

import (
	"context"
	"encoding/json"
)

// Try starts a plug-in, shakes hands, asks what every plug-in of its kind can answer, and
// ends it. What it printed on stderr comes back, too.
func (h Host) Try(ctx context.Context, m *Manifest) (answered bool, stderr string, err error) {
	p, err := h.Start(ctx, m)
	if err != nil {
		return false, "", err
	}
	if q := m.Kind.Probe; q != nil {
		answered = true
		if m.Kind.Lines {
			err = p.Stream(q, func([]byte) error { return nil })
		} else {
			err = p.Call(q, new(json.RawMessage))
		}
	}
	if bad := p.Close(); err == nil {
		err = bad
	}
	return answered && err == nil, p.Stderr(), err
}
