package plugin

import (
	"os/exec"
	"sync"
)

// group is a program with all that it started.
type group struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	gone bool
}

// end ends what there is of it.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd.Process != nil && !g.gone {
		endGroup(g.cmd.Process)
	}
}

// over ends what the program left running, once it is waited for: after that its number
// may be somebody else's.
func (g *group) over() {
	g.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
}
