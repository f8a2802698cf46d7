package tokenizer

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
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

// Folder is where the files of the tokenizer are; of a model when none was
// named. Built-in encodings have none.
func (r Ref) Folder(model string) (string, error) {
	if r.Name == "" {
		r.Name = model
	}
	if r.Name == Server {
		return "", diag.Errorf("the server that counts applies its template itself").
			Try("leave it out, or name the model's folder (--tokenizer DIR)")
	}
	if r.BuiltIn() {
		return "", diag.Errorf("tokenizer %s is built in: it has no files", cmp.Or(r.Name, "builtin")).
			Try("name the model's folder (--tokenizer DIR)")
	}
	path, err := r.find()
	if err != nil {
		return "", fmt.Errorf("tokenizer %w", err)
	}
	return filepath.Dir(inFolder(path)), nil
}

// Place is where the tokenizer is, of a model when none was named: a path, or the name of
// an encoding that is built in.
func (r Ref) Place(model string) (string, error) {
	switch {
	case r.Name == "":
		if path, _ := findInCaches(model, r.Revision); path != "" {
			return path, nil
		}
		return Default, nil
	case r.BuiltIn():
		return r.Name, nil
	}
	return r.find()
}

// Files are those that Place, and who writes prompts by its model's template, read; none
// where it is built in.
func (r Ref) Files(model string) ([]string, error) {
	at, err := r.Place(model)
	if err != nil || (Ref{Name: at}).BuiltIn() {
		return nil, err
	}
	if at, err = filepath.Abs(inFolder(at)); err != nil {
		return nil, err
	}
	files := []string{at}
	for _, name := range append([]string{"chat_template.json"}, besides...) {
		if path := filepath.Join(filepath.Dir(at), name); exists(path) {
			files = append(files, path)
		}
	}
	more, err := filepath.Glob(filepath.Join(filepath.Dir(at), "additional_chat_templates", "*.jinja"))
	return append(files, more...), err
}

// Fetch brings a model's tokenizer, and what else says how its prompts are
// written, into the local cache.
func (r Ref) Fetch(ctx context.Context, f *hub.Fetcher) error {
	repo := hub.Repo{Kind: "models", Name: r.Name, Revision: r.Revision}
	list, err := f.List(ctx, repo)
	if err != nil {
		return err
	}
	found := false
	for _, file := range list.Files {
		is := slices.Contains(fileNames, file.Path)
		if found = found || is; !is && !slices.Contains(besides, file.Path) {
			continue
		}
		if _, err := f.Get(ctx, repo, list.Commit, file); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: holds no tokenizer (%s)", repo, strings.Join(fileNames, ", "))
	}
	return f.Finish(repo, list.Commit)
}

// besides are the files of a model's folder that say how prompts are written.
var besides = []string{
	"tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json",
	"generation_config.json",
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
