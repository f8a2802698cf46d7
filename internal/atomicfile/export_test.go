package atomicfile

import "os"

// Redirect sends the bytes of f to another open file; f keeps its own temporary
// name, so nothing but that is ever removed or renamed.
func (f *File) Redirect(device *os.File) {
	_ = f.tmp.Close()
	f.tmp = device
}
