package runner

import (
	"os"
	"path/filepath"
)

// Beside finds a file that an experiment names: seen from the working
// directory, as AIPerf does, else from the folder of the experiment's own
// file, so that both can be moved together. It is path itself when there is no
// such file.
func Beside(experiment, path string) string {
	if path == "" || filepath.IsAbs(path) || exists(path) {
		return path
	}
	if near := filepath.Join(filepath.Dir(experiment), path); exists(near) {
		return near
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
