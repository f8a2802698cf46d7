package public

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/hub"
)

// Place is where the files of a data set are.
type Place struct {
	Dir    string   // what the files are seen from
	Files  []string // to be read, in this order
	Commit string   // of the hub; "" where nobody knows
}

// converted is the branch on which the hub keeps data sets as Parquet that are
// published as something else.
const converted = "refs/convert/parquet"

// Hub is the set's repository on the hub.
func (s *Set) Hub() hub.Repo {
	return hub.Repo{Kind: "datasets", Name: s.Repo, Revision: s.Revision}
}

// Find looks for the files in folder, or, when that is "", in the caches of
// this machine: the hub's, and for single files AIPerf's own.
func (s *Set) Find(folder string) (Place, error) {
	if folder != "" {
		return s.inFolder(folder)
	}
	if s.Repo == "" && s.Address == "" {
		return Place{}, diag.Errorf("which repository?").Try("hf_weka_dataset (--hf-weka-dataset) names it")
	}
	if p := s.beside(); p != nil {
		return *p, nil
	}
	if s.Repo == "" {
		return Place{}, diag.Errorf("%s: not on this machine", s.Name).Try(s.remedy())
	}
	var first error
	for _, repo := range s.repos() {
		at, err := repo.Find()
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		list, err := hub.Files(at.Dir)
		if err != nil {
			return Place{}, err
		}
		names, err := s.pick(list, readCard(at.Dir))
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("%s: %w", repo, err))
			continue
		}
		return place(at.Dir, names, at.Commit), nil
	}
	return Place{}, diag.Errorf("%w", first).Try(s.remedy())
}

// repos are where the set may be on the hub: as published, then as converted.
func (s *Set) repos() []hub.Repo {
	as := s.Hub()
	asParquet := as
	asParquet.Revision = converted
	return []hub.Repo{as, asParquet}
}

// remedy says how to get the files.
func (s *Set) remedy() string {
	if s.Repo == "" {
		return "--allow-download fetches it"
	}
	how := "--allow-download fetches it, as does: hf download --repo-type dataset " + s.Repo
	if s.Gated {
		how += " (its terms must be accepted there first)"
	}
	return how
}

func place(dir string, names []string, commit string) Place {
	p := Place{Dir: dir, Commit: commit}
	for _, n := range names {
		p.Files = append(p.Files, filepath.Join(dir, filepath.FromSlash(n)))
	}
	return p
}

// Own is where AIPerf, and this program, keep single files: .cache/aiperf/datasets.
func Own() string { return filepath.Join(".cache", "aiperf", "datasets") }

// beside is the set's one file in AIPerf's own cache.
func (s *Set) beside() *Place {
	if s.File == "" {
		return nil
	}
	if st, err := os.Stat(filepath.Join(Own(), s.File)); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	p := place(Own(), []string{s.File}, "")
	return &p
}

func (s *Set) inFolder(folder string) (Place, error) {
	st, err := os.Stat(folder)
	if err != nil {
		return Place{}, err
	}
	if !st.IsDir() {
		return Place{Dir: filepath.Dir(folder), Files: []string{folder}}, nil
	}
	list, err := hub.Files(folder)
	if err != nil {
		return Place{}, err
	}
	names, err := s.pick(list, readCard(folder))
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", folder, err)
	}
	return place(folder, names, ""), nil
}

// dataFile are the kinds of files that hold records.
var dataFile = regexp.MustCompile(`\.(parquet|jsonl|json|ndjson|csv|tsv)(\.gz)?$`)

// pick follows the rules by which Hugging Face's tools read a repository that
// has no program of its own: what the card says, else folders and file names
// that hold the name of the split as a word.
func (s *Set) pick(list []string, card string) ([]string, error) {
	data := slices.DeleteFunc(slices.Clone(list), func(n string) bool {
		return !dataFile.MatchString(n) || strings.HasPrefix(path.Base(n), ".") ||
			path.Base(n) == "dataset_infos.json" || path.Base(n) == "dataset_info.json"
	})
	if s.File != "" {
		if i := slices.IndexFunc(data, func(n string) bool { return path.Base(n) == s.File }); i >= 0 {
			return data[i : i+1], nil
		}
		return nil, fmt.Errorf("it holds no file %s", s.File)
	}
	if names := s.byCard(data, card); len(names) > 0 {
		return names, nil
	}
	if s.Subset != "" {
		in := slices.DeleteFunc(slices.Clone(data),
			func(n string) bool { return !slices.Contains(strings.Split(path.Dir(n), "/"), s.Subset) })
		if len(in) > 0 {
			data = in
		}
	}
	if names := bySplit(data, s.Split); len(names) > 0 {
		return names, nil
	}
	if s.Split == "train" && !slices.ContainsFunc(data, namesASplit) && len(data) > 0 {
		return data, nil // files that name no split are its only one
	}
	return nil, fmt.Errorf("no files of the split %s (subset %s) among %d", s.Split, orDefault(s.Subset), len(data))
}

func orDefault(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

// splits are the words that file names use for a split.
var splits = map[string][]string{
	"train": {"train", "training"}, "test": {"test", "testing", "eval", "evaluation"},
	"validation": {"validation", "valid", "val", "dev"},
	"val":        {"val", "validation", "valid", "dev"},
}

// bySplit are the files that have a split's word in their name or a folder's,
// set off from letters and digits; the first word that any file has counts.
func bySplit(data []string, split string) []string {
	words := splits[split]
	if words == nil {
		words = []string{split}
	}
	for _, w := range words {
		word := regexp.MustCompile(`(^|[^A-Za-z0-9])` + regexp.QuoteMeta(w) + `([^A-Za-z0-9]|$)`)
		if in := slices.DeleteFunc(slices.Clone(data),
			func(n string) bool { return !word.MatchString(n) }); len(in) > 0 {
			return in
		}
	}
	return nil
}

func namesASplit(name string) bool {
	for split := range splits {
		if len(bySplit([]string{name}, split)) > 0 {
			return true
		}
	}
	return false
}

// byCard are the files that the card's configs name for subset and split.
func (s *Set) byCard(data []string, card string) []string {
	head, ok := strings.CutPrefix(card, "---\n")
	head, _, end := strings.Cut(head, "\n---")
	if !ok || !end {
		return nil
	}
	var meta struct {
		Configs []struct {
			Name  string    `yaml:"config_name"`
			Dir   string    `yaml:"data_dir"`
			Files yaml.Node `yaml:"data_files"`
		}
	}
	if yaml.Unmarshal([]byte(head), &meta) != nil {
		return nil
	}
	for _, c := range meta.Configs {
		if c.Name != orDefault(s.Subset) && !(s.Subset == "" && len(meta.Configs) == 1) {
			continue
		}
		var names []string
		for _, glob := range patterns(&c.Files, s.Split) {
			for _, n := range data {
				if matches(path.Join(c.Dir, glob), n) && !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
		if len(names) == 0 && c.Dir != "" {
			in := slices.DeleteFunc(slices.Clone(data),
				func(n string) bool { return !strings.HasPrefix(n, strings.TrimSuffix(c.Dir, "/")+"/") })
			names = bySplit(in, s.Split)
		}
		return names
	}
	return nil
}

// patterns are the globs that data_files says for a split: one text, a list of
// texts, or a list of {split, path}.
func patterns(n *yaml.Node, split string) (out []string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if split == "train" {
			out = append(out, n.Value)
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			var one struct {
				Split string
				Path  yaml.Node
			}
			switch {
			case e.Kind == yaml.ScalarNode:
				out = append(out, patterns(e, split)...)
			case e.Decode(&one) == nil && one.Split == split:
				out = append(out, patterns(&one.Path, "train")...)
			}
		}
	}
	return out
}

// matches reports whether a path fits a glob with *, ** and ?.
func matches(glob, name string) bool {
	var re strings.Builder
	re.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			re.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			re.WriteString(".*")
			i++
		case glob[i] == '*':
			re.WriteString("[^/]*")
		case glob[i] == '?':
			re.WriteString("[^/]")
		default:
			re.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	ok, err := regexp.MatchString(re.String()+"$", name)
	return err == nil && ok
}

// Fetch brings the files of the set into the caches of this machine. Of a large
// set it is the first file: a benchmark sends a few of its records.
func (s *Set) Fetch(ctx context.Context, f *hub.Fetcher) error {
	if s.Repo == "" {
		if s.Address == "" {
			return diag.Errorf("which repository?").Try("hf_weka_dataset (--hf-weka-dataset) names it")
		}
		return f.Plain(ctx, s.Address, filepath.Join(Own(), s.File))
	}
	var first error
	for _, repo := range s.repos() {
		err := s.fetch(ctx, f, repo)
		if err == nil {
			return nil
		}
		if first = cmp.Or(first, err); ctx.Err() != nil {
			break
		}
	}
	return first
}

func (s *Set) fetch(ctx context.Context, f *hub.Fetcher, repo hub.Repo) error {
	list, err := f.List(ctx, repo)
	if err != nil {
		return err
	}
	byName, names, card := map[string]hub.File{}, []string{}, ""
	for _, file := range list.Files {
		byName[file.Path] = file
		names = append(names, file.Path)
	}
	if file, ok := byName["README.md"]; ok && file.Size <= maxCard {
		at, err := f.Get(ctx, repo, list.Commit, file)
		if err != nil {
			return err
		}
		card = readCard(filepath.Dir(at))
	}
	slices.Sort(names)
	wanted, err := s.pick(names, card)
	if err != nil {
		return fmt.Errorf("%s: %w", repo, err)
	}
	if s.Large {
		wanted = wanted[:1]
	}
	for _, name := range wanted {
		if _, err := f.Get(ctx, repo, list.Commit, byName[name]); err != nil {
			return err
		}
	}
	return f.Finish(repo, list.Commit)
}

// maxCard bounds a README.md, in bytes.
const maxCard = 8 << 20

func readCard(dir string) string {
	name := filepath.Join(dir, "README.md")
	if st, err := os.Stat(name); err != nil || st.Size() > maxCard {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}
