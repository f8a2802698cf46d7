package compat

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/format"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// templateFiles are experiments to start from. The first comment line of each
// is "category: what it is for"; "demo" and the first mock: address in it are
// what --model and --url replace.
//
//go:embed templates
var templateFiles embed.FS

// Template is one file of templateFiles.
type Template struct {
	File, Category, Doc string
	Text                []byte
}

func (t Template) name() string { return strings.TrimSuffix(t.File, path.Ext(t.File)) }

// templateNames are the files, sorted.
func templateNames() ([]string, error) {
	entries, err := fs.ReadDir(templateFiles, "templates")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Templates are all of them, by category and name.
func Templates() ([]Template, error) {
	names, err := templateNames()
	if err != nil {
		return nil, err
	}
	var out []Template
	for _, name := range names {
		t := Template{File: name}
		if t.Text, err = templateFiles.ReadFile(path.Join("templates", name)); err != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(string(t.Text), "\n")
		t.Category, t.Doc, _ = strings.Cut(strings.TrimLeft(first, "/# "), ": ")
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Template) int {
		return strings.Compare(a.Category+"\x00"+a.File, b.Category+"\x00"+b.File)
	})
	return out, nil
}

// missingTemplates are AIPerf's that need what is not here, on this machine or
// in this program, and the nearest of ours.
var missingTemplates = map[string]struct{ why, nearest string }{
	"gpu-telemetry":     {"any other does, with --gpu-telemetry HOST:9400", ""},
	"public-dataset":    {"it needs a data set on this machine, which aiperf dataset public lists; write dataset: {type: public, dataset: sharegpt}", "inline-dataset"},
	"user-files":        {"files of one's own in the results are not supported yet", ""},
	"speed-bench-sweep": {"it needs the files of SPEED-Bench; sweep datasets.main.format over speed_bench_coding and the others", "sweep"},
}

// FindTemplate finds one by its name, with or without its ending.
func FindTemplate(all []Template, name string) (Template, error) {
	var names []string
	wanted := strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), ".yaml"), ".cue")
	for _, t := range all {
		if t.name() == wanted {
			return t, nil
		}
		names = append(names, t.name())
	}
	if m, ok := missingTemplates[wanted]; ok {
		hint := "aiperf config init --list shows what there is"
		if m.nearest != "" {
			hint = "aiperf config init " + m.nearest + " comes nearest"
		}
		return Template{}, diag.New("config init: no template "+wanted+": "+m.why, hint)
	}
	e := diag.New(fmt.Sprintf("config init: no template %q", name), "aiperf config init --list shows them")
	if s := schema.Suggest(wanted, names); s != "" {
		e.Hint = "did you mean " + s + "?"
	}
	return Template{}, e
}

// For is the filled template in the language that the name of file has, CUE or
// YAML; any other name leaves it as it is.
func (t Template) For(file string, text []byte) ([]byte, error) {
	is, want := path.Ext(t.File), strings.ToLower(filepath.Ext(file))
	switch {
	case is == ".yaml" && want == ".cue":
		out, _, err := YAMLToCUE(text)
		return out, err
	case is == ".cue" && (want == ".yaml" || want == ".yml"):
		return t.yaml(text)
	}
	return text, nil
}

// yaml is a filled template in CUE as YAML. Its comments stay behind: CUE's
// values have none.
func (t Template) yaml(text []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "aiperf-init-") // CUE is read from files alone
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, t.File)
	if err := os.WriteFile(from, text, 0o600); err != nil {
		return nil, err
	}
	doc, err := schema.Load(schema.Source{File: from})
	if err != nil {
		return nil, err
	}
	out, _, err := Write(doc.Said(), "yaml")
	return append([]byte("# "+t.Doc+"\n"+schema.EditorLine+"\n"), out...), err
}

// Fill puts model and url in place of the template's own. A quoted JSON string
// is the same in CUE and YAML.
func (t Template) Fill(model, url string) ([]byte, error) {
	text := t.Text
	for _, s := range []struct{ flag, key, value string }{{"--model", "model: ", model}, {"--url", "url: ", url}} {
		if s.value == "" {
			continue
		}
		out, ok := replaceValue(text, s.key, s.value)
		if !ok {
			return nil, diag.New("config init: "+s.flag+": the template "+t.name()+" has several", "edit the file")
		}
		text = out
	}
	if path.Ext(t.File) == ".cue" { // a longer name moves what stands in columns
		return format.Source(text)
	}
	return text, nil
}

// TakesServer reports whether the template has one model and one address that
// stands for any server.
func (t Template) TakesServer() bool {
	_, err := t.Fill("model", "http://localhost")
	return err == nil && bytes.Contains(t.Text, []byte(`"mock:`))
}

// replaceValue puts value after the key, which must stand in text once.
func replaceValue(text []byte, key, value string) ([]byte, bool) {
	if bytes.Count(text, []byte(key)) != 1 {
		return nil, false
	}
	i := bytes.Index(text, []byte(key)) + len(key)
	for text[i] == ' ' { // values are aligned
		i++
	}
	rest := text[i:]
	end := bytes.IndexAny(rest, ",}\n#")
	if rest[0] == '"' {
		end = bytes.IndexByte(rest[1:], '"') + 2
	}
	for end > 0 && rest[end-1] == ' ' {
		end--
	}
	return slices.Concat(text[:i], []byte(strconv.Quote(value)), rest[end:]), true
}
