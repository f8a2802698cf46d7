package tokenizer

import (
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/hub"
)

// findInCaches looks for a model (org/name, or a name that one cached model
// ends in) in the local Hugging Face caches, and says where it looked.
func findInCaches(model, revision string) (path string, looked []string) {
	for _, name := range append([]string{model}, sameName(model)...) {
		repo := hub.Repo{Kind: "models", Name: name, Revision: revision}
		for _, cache := range hub.Folders() {
			looked = append(looked, filepath.Join(repo.Folder(cache), "snapshots", "*", fileNames[0]))
		}
		s, err := repo.Find()
		if err != nil {
			continue
		}
		if file := inFolder(s.Dir); exists(file) {
			return file, looked
		}
	}
	return "", looked
}

// sameName is the one cached model called org/model for any org; none where
// there are several.
func sameName(model string) (found []string) {
	if strings.Contains(model, "/") {
		return nil
	}
	for _, cache := range hub.Folders() {
		list, _ := os.ReadDir(cache)
		for _, e := range list {
			org, name, ok := strings.Cut(strings.TrimPrefix(e.Name(), "models--"), "--")
			if ok && name == model && strings.HasPrefix(e.Name(), "models--") {
				found = append(found, org+"/"+name)
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
