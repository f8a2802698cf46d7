//go:build unix

package acceptance

import (
	"os"
	"runtime"
	"syscall"
)

// peakResident is the largest resident size of an ended process, in MB; 0 when
// the platform does not tell.
func peakResident(p *os.ProcessState) float64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return float64(u.Maxrss) / (1 << 20) // bytes there, KiB elsewhere
	}
	return float64(u.Maxrss) / (1 << 10)
}
