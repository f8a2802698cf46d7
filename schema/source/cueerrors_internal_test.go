package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
)

// What is read from CUE's mistakes is known by their formats, which are no part of
// its API: each of them still comes from the mistake that it is taken for.
func TestFormatsOfCUE(t *testing.T) {
	t.Parallel()
	tagged := map[string]string{"a.cue": "package a\nn: int @tag(n, type=int)\nm: string @tag(m)\n"}
	for _, c := range []struct {
		format string
		files  map[string]string
		tags   []string
	}{
		{format: importCycle, files: map[string]string{
			"a.cue": "package a\nimport \"x.test/b\"\nv: b.v\n", "b/b.cue": "package b\nimport \"x.test/c\"\nv: c.v\n", "c/c.cue": "package c\nimport \"x.test/b\"\nv: b.v\n",
		}},
		{format: importFailed, files: map[string]string{"a.cue": "package a\nimport \"x.test/b\"\nv: b.v\n", "b/b.cue": "package b\nv: }\n"}},
		{format: structural, files: map[string]string{"a.cue": "package a\n#L: {next: #L}\n"}},
		{format: throughField, files: map[string]string{"a.cue": "package a\na: b + 1\nb: a - 1\n"}},
		{format: throughLet, files: map[string]string{"a.cue": "package a\nlet x = {n: y.n}\nlet y = {n: x.n}\na: x.n\n"}},
		{format: conflicting, files: map[string]string{"a.cue": "package a\na: 1 & 2\n"}},
		{format: conflicting, files: map[string]string{"a.cue": "package a\na: 1 & \"x\"\n"}},
		{format: noChoice, files: map[string]string{"a.cue": "package a\na: (1 | 2) & 3\n"}},
		{format: listPlus, files: map[string]string{"a.cue": "package a\na: [1] + [2]\n"}},
		{format: listTimes, files: map[string]string{"a.cue": "package a\na: 3 * [1]\n"}},
		{format: waiting, files: map[string]string{"a.cue": "package a\nx: bool\na: {if x {b: 1}}\n"}},
		{format: notFound, files: map[string]string{"a.cue": "package a\nb: c.d\n"}},
		{format: unknownVar, files: map[string]string{"a.cue": "package a\nn: string @tag(n, var=moon)\n"}},
		{format: unknownTag, files: tagged, tags: []string{"k=1"}},
		{format: bareTag, files: tagged, tags: []string{"n"}},
		{format: wrongTag, files: tagged, tags: []string{"n=x"}},
	} {
		dir := t.TempDir()
		c.files["cue.mod/module.cue"] = "module: \"x.test\"\nlanguage: version: \"" + LanguageVersion + "\"\n"
		for name, text := range c.files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		inst := load.Instances([]string{thisPackage}, &load.Config{
			Dir: dir, Tags: c.tags,
			TagVars: map[string]load.TagVar{}, Env: []string{},
		})[0]
		var err error = inst.Err
		if inst.Err == nil {
			err = cuecontext.New().BuildInstance(inst).Validate(cue.Concrete(true))
		}
		var all []string
		for _, e := range cueerrors.Errors(err) {
			for _, one := range []cueerrors.Error{e, imported(e)} {
				format, _ := one.Msg()
				all = append(all, format)
			}
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, c.format) {
			t.Errorf("%v with %q: formats\n%s\nwant one with %q", c.files, c.tags, got, c.format)
		}
	}
}
