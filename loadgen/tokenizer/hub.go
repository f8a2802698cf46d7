package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
)

// findInCaches looks for model (org/name, or name) in the local Hugging Face
// caches, and says where it looked.
func findInCaches(model string) (path string, looked []string) {
	folder := "models--" + strings.ReplaceAll(model, "/", "--")
	for _, hub := range hubs() {
		repo := filepath.Join(hub, folder)
		looked = append(looked, filepath.Join(repo, "snapshots", "*", "tokenizer.json"))
		if path = newestSnapshot(repo); path != "" {
			return path, looked
		}
	}
	return "", looked
}

// hubs are the folders Hugging Face's own tools would use, in their order.
func hubs() []string {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return []string{dir}
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return []string{filepath.Join(dir, "hub")}
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		cache = filepath.Join(home, ".cache")
	}
	return []string{filepath.Join(cache, "huggingface", "hub")}
}

// newestSnapshot is the tokenizer.json of the revision that refs/main names,
// else the one most recently written, else "".
func newestSnapshot(repo string) string {
	if ref, err := os.ReadFile(filepath.Join(repo, "refs", "main")); err == nil {
		path := filepath.Join(repo, "snapshots", filepath.Base(strings.TrimSpace(string(ref))), "tokenizer.json")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(repo), "snapshots", "*", "tokenizer.json"))
	if err != nil {
		return ""
	}
	best, newest := "", int64(0)
	for _, path := range found {
		if st, err := os.Stat(path); err == nil && (best == "" || st.ModTime().UnixNano() > newest) {
			best, newest = path, st.ModTime().UnixNano()
		}
	}
	return best
}

// escapeGlob makes a path match only itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
