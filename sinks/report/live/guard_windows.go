package live

import (
	"os"
	"syscall"
)

// apart says that there is no guard here.
func apart() *syscall.SysProcAttr { return nil }

func deaf() {}

func foreground(*os.File) int { return 0 }
