package onerun

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Material is s with every file that it reads named in it, by its path from the root, for
// whoever carries it out on another machine; and these files. What was to be found by
// name alone, as a model's tokenizer in a cache, is named by where it is. Not among them
// are the files of TLS, which belong to a machine.
func (s *Spec) Material() (spec Spec, files []string, err error) {
	spec = *s
	if err := spec.name(); err != nil {
		return spec, nil, err
	}
	ref, model := TokenizerOf(&spec.Benchmark), spec.Benchmark.Models.Items[0].Name
	if files, err = ref.Files(model); err != nil {
		return spec, nil, err
	}
	spec, err = spec.Placed(func(name string) (string, error) {
		path, err := filepath.Abs(name)
		if err != nil || name == spec.Benchmark.Tokenizer.Name {
			return path, err
		}
		found, err := filesBelow(path)
		files = append(files, found...)
		return path, err
	})
	slices.Sort(files)
	return spec, slices.Compact(files), err
}

// filesBelow are the files of a folder, or the file itself. Links to files are files, as in
// caches of models.
func filesBelow(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() {
			files = append(files, at)
		}
		return nil
	})
	return files, err
}

// name has the settings name what would be looked for.
func (s *Spec) name() (err error) {
	b := &s.Benchmark
	if b.Tokenizer.Name, err = TokenizerOf(b).Place(b.Models.Items[0].Name); err != nil {
		return err
	}
	if b.Tokenizer.Name != tokenizer.Server {
		b.Tokenizer.Revision = ""
	}
	if b.Endpoint, err = endpoint.WithTemplate(b.Endpoint); err != nil {
		return err
	}
	b.Datasets = slices.Clone(b.Datasets)
	for i := range b.Datasets {
		d := &b.Datasets[i]
		if d.Dataset == "" || d.Folder != "" {
			continue
		}
		set, err := dataset.PublicSet(d)
		if err != nil {
			return err
		}
		at, err := set.Find("")
		if err != nil {
			return err
		}
		d.Folder = at.Dir
		if len(at.Files) == 1 && at.Commit == "" {
			d.Folder = at.Files[0] // a file among others
		}
	}
	return nil
}

// Placed is s with each file and folder that its requests are made of where at says.
func (s *Spec) Placed(at func(name string) (string, error)) (spec Spec, err error) {
	spec = *s
	b := &spec.Benchmark
	b.GPUTelemetry.MetricsFile = "" // whoever holds the parts together reads it
	b.Datasets = slices.Clone(b.Datasets)
	var names []*string
	if !(tokenizer.Ref{Name: b.Tokenizer.Name}).BuiltIn() {
		names = append(names, &b.Tokenizer.Name)
	}
	if t := b.Endpoint.Template; t != nil && endpoint.IsTemplateFile(t.Body) {
		own := *t
		b.Endpoint.Template = &own
		names = append(names, &own.Body)
	}
	if r := b.Endpoint.RPC; r != nil && endpoint.IsTemplateFile(r.Body) {
		own := *r
		b.Endpoint.RPC = &own
		names = append(names, &own.Body)
	}
	for i := range b.Datasets {
		names = append(names, filesOf(&b.Datasets[i])...)
	}
	if b.Accuracy != nil {
		own := *b.Accuracy
		b.Accuracy = &own
		names = append(names, &own.Path)
	}
	for _, name := range names {
		if *name == "" {
			continue
		}
		if *name, err = at(*name); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// filesOf are the settings of d that name files and folders. What they lie in is not
// shared with the d that it was copied from.
func filesOf(d *schema.Dataset) []*string {
	d.MediaRoots = slices.Clone(d.MediaRoots)
	names := []*string{&d.Path, &d.Folder, &d.SystemFile, &d.Prompts.CorpusFile}
	for i := range d.MediaRoots {
		names = append(names, &d.MediaRoots[i])
	}
	if d.Images != nil && d.Images.Source != "noise" && d.Images.Source != "assets" {
		images := *d.Images
		d.Images = &images
		names = append(names, &images.Source)
	}
	return names
}
