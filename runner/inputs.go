package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// Inputs refuses a plan whose request files, tokenizer or built-in server are
// not to be had, before anything is sent or written; file is the experiment's
// own.
func Inputs(doc *schema.Document, plan *sweep.Plan, file string) error {
	c := inputCheck{said: doc.Said(), play: true, file: file, seen: map[string]bool{}}
	for _, b := range bodies(doc, plan) {
		for i, d := range b.Datasets {
			c.records("benchmark.datasets."+d.Name+".path", d.Path)
			c.records("benchmark.datasets."+d.Name+".system_prompt_file", d.SystemFile)
			c.pictures("benchmark.datasets."+d.Name+".images.source", d.Images)
			c.size(i, d, b.Phases)
			c.encoded(i, d)
			c.published(d)
			if plan != nil {
				c.playable(i, d, b)
			}
		}
		c.names(&b.Artifacts)
		c.tokenizer(onerun.TokenizerOf(b))
		if plan != nil {
			c.template(b)
			c.endpoint(b)
			c.questions(b)
			c.plugins(b)
		}
		c.certificates(&b.Endpoint)
		for _, u := range b.Endpoint.URLs {
			c.builtIn(u)
		}
	}
	if plan == nil {
		c.addresses(c.said)
	}
	if len(c.bad) > 0 {
		return c.bad
	}
	return nil
}

// addresses looks at all mock: addresses that were written, where no plan could be made that
// says which are used.
func (c *inputCheck) addresses(s schema.Said) {
	for _, below := range [][]schema.Said{s.Fields, s.Items} {
		for _, x := range below {
			if u, ok := x.Value.(string); ok && (x.Name == "" || x.Name == "url" || x.Name == "urls") {
				c.builtIn(u)
			}
			c.addresses(x)
		}
	}
}

// Data refuses a plan whose request files are there and cannot be played, whose
// results would have no names, or whose built-in server is asked for what it
// cannot do. It is the part of Inputs that a plan is
// checked with where it is not carried out: it may be read on a machine that does
// not hold its data.
func Data(doc *schema.Document, plan *sweep.Plan, file string) error {
	c := inputCheck{said: doc.Said(), file: file, seen: map[string]bool{}}
	for _, b := range bodies(doc, plan) {
		for i, d := range b.Datasets {
			if plan != nil {
				c.playable(i, d, b)
			}
		}
		c.names(&b.Artifacts)
		for _, u := range b.Endpoint.URLs {
			c.builtIn(u)
		}
	}
	if len(c.bad) > 0 {
		return c.bad
	}
	return nil
}

// bodies are those of a plan's cells. Of an experiment that no plan could be made of
// they are the parts that could be read, which are looked at one by one.
func bodies(doc *schema.Document, plan *sweep.Plan) []*schema.Benchmark {
	if plan == nil {
		return []*schema.Benchmark{doc.Parts()}
	}
	out := make([]*schema.Benchmark, len(plan.Cells))
	for i, c := range plan.Cells {
		out[i] = &c.Resolved.Benchmark
	}
	return out
}

// inputCheck looks at each input once, whatever the number of cells.
type inputCheck struct {
	said schema.Said
	play bool // the plan is carried out, not only looked at
	file string
	seen map[string]bool
	bad  schema.Errors
}

// once reports whether value is there and was not looked at before.
func (c *inputCheck) once(value string) bool {
	again := c.seen[value]
	c.seen[value] = true
	return value != "" && !again
}

func (c *inputCheck) found(name, value, path, message, hint string) {
	at := placeOf(c.said, name, value)
	c.bad = append(c.bad, &schema.Error{Place: at.Where, Path: cmp.Or(at.Path, path), Message: message, Hint: hint})
}

// refused is found for an error that brings its own hint, if any.
func (c *inputCheck) refused(name, value, path string, err error) {
	c.found(name, value, path, err.Error(), diag.Of(err).Hint)
}

func (c *inputCheck) records(path, name string) {
	if !c.once(name) {
		return
	}
	if _, err := os.Stat(Beside(c.file, name)); errors.Is(err, fs.ErrNotExist) {
		c.found("path", name, path, "no such file: "+name,
			"paths are seen from the working directory, else from the experiment's folder")
	}
}

func (c *inputCheck) pictures(path string, i *schema.Images) {
	if i == nil || !c.once(i.Source) {
		return
	}
	if _, err := media.PicturesOf(i.Source); err != nil {
		c.refused("source", i.Source, path, err)
	}
}

// playable refuses records that cannot be played, or that the endpoint type has
// no place for, as far as dataset.Check looks. The place is the line of the data,
// not of the experiment: that is the one to mend.
func (c *inputCheck) playable(i int, d schema.Dataset, b *schema.Benchmark) {
	if d.Path == "" && len(d.Records) == 0 {
		return
	}
	key, err := json.Marshal([]any{
		"records", d.Path, d.Format, d.Records, d.Columns, d.MediaRoots, d.BlockSize,
		b.Endpoint.Type,
	})
	if err != nil || !c.once(string(key)) {
		return
	}
	d.Path = Beside(c.file, d.Path)
	if d.Path != "" && !exists(d.Path) {
		return // records says so
	}
	if IsPipe(d.Path) {
		c.found("path", d.Path, "benchmark.datasets."+d.Name+".path",
			d.Path+" is a pipe, which gives its records only once",
			"--input-file reads a pipe into a file first; or name a file")
		return
	}
	var accept func(*dataset.Turn) error
	if spec, err := openEndpoint(b, c.file); err == nil { // endpoint tells what is wrong with it
		limited := d.LimitsOutput()
		accept = func(t *dataset.Turn) error {
			if limited && t.MaxTokens == 0 { // the dataset's settings give it one
				u := *t
				u.MaxTokens, t = 1, &u
			}
			return spec.Fits(t)
		}
	}
	if err := dataset.Check(d, accept); err != nil && (c.play || !errors.Is(err, format.ErrBlockSize)) {
		c.bad = append(c.bad, c.unplayable(i, d, err))
	}
}

// IsPipe reports whether a file gives what it holds only once.
func IsPipe(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0
}

// unplayable is what dataset.Check says about d, which is dataset i of its cell.
func (c *inputCheck) unplayable(i int, d schema.Dataset, err error) *schema.Error {
	message, hint := err.Error(), diag.Of(err).Hint
	var file *fs.PathError
	if errors.As(err, &file) && file.Path == d.Path {
		message = d.Path + ": " + file.Err.Error()
	}
	if rest, ok := strings.CutPrefix(message, d.Path); ok && d.Path != "" {
		if hint == "" {
			hint = "aiperf dataset formats lists the formats; aiperf dataset inspect FILE shows what a file holds"
		}
		line, what, _ := strings.Cut(rest, ": ") // the line, such as :7 or [3], where there is one
		return &schema.Error{Place: d.Path + line, Message: what, Hint: hint, More: diag.Of(err).More}
	}
	at := []string{"benchmark", "datasets", strconv.Itoa(i), "records"} // they stand in the experiment itself
	return &schema.Error{
		Place: placeAt(c.said, at), Path: "benchmark.datasets." + d.Name, Message: message, Hint: hint,
		More: diag.Of(err).More,
	}
}

// names refuses a prefix that makes no file names.
func (c *inputCheck) names(a *schema.Artifacts) {
	if !c.once(fmt.Sprint("prefix ", a.Outputs, " ", a.Prefix)) {
		return
	}
	names, err := aiperf.ProfileNames(a.Prefix)
	if err == nil && a.Outputs && names.JSON == names.Outputs {
		err = fmt.Errorf("%q is the name of the file that export_outputs_json writes", a.Prefix)
	}
	if err != nil {
		c.found("prefix", a.Prefix, "benchmark.artifacts.prefix", err.Error(),
			"a name such as run1 makes run1.json, run1.csv and run1.jsonl")
	}
}

// encoded refuses synthetic sounds and videos in a format that this machine cannot write.
func (c *inputCheck) encoded(i int, d schema.Dataset) {
	if !d.Made() {
		return
	}
	formats := map[string]string{}
	if a := d.Audio; a != nil && a.BatchSize > 0 {
		formats["audio"] = a.Format
	}
	if v := d.Video; v != nil && v.BatchSize > 0 {
		formats["video"] = v.Format
	}
	for _, kind := range slices.Sorted(maps.Keys(formats)) {
		if !c.once("encoder " + kind + " " + formats[kind]) {
			continue
		}
		if err := media.Encodes(formats[kind]); err != nil {
			at := placeAt(c.said, strings.Split("benchmark.datasets."+strconv.Itoa(i)+"."+kind+".format", "."))
			c.bad = append(c.bad, &schema.Error{Place: at, Path: "benchmark.datasets." + d.Name + "." + kind +
				".format", Message: err.Error(), Hint: diag.Of(err).Hint})
		}
	}
}

// size refuses what is more text than anything takes.
func (c *inputCheck) size(i int, d schema.Dataset, phases []schema.Phase) {
	field, size, limit := dataset.TooLarge(&d)
	if field == "" || !c.once(fmt.Sprint(field, size)) {
		return
	}
	at := placeAt(c.said, strings.Split("benchmark.datasets."+strconv.Itoa(i)+"."+field+".mean", "."))
	hint := ""
	for k := range phases { // without a count there are as many entries as requests
		for _, bound := range []string{"requests", "sessions"} {
			if at == "" && field == "entries" {
				at, hint = placeAt(c.said, []string{"benchmark", "phases", strconv.Itoa(k), bound}),
					"give the data set fewer entries, which are then sent again: --num-dataset-entries"
			}
		}
	}
	c.bad = append(c.bad, &schema.Error{
		Place: at, Hint: hint, Path: "benchmark.datasets." + d.Name + "." + field,
		Message: fmt.Sprintf("%.12g is above the limit of %.0f", size, limit),
	})
}

func (c *inputCheck) tokenizer(ref tokenizer.Ref) {
	if ref.Name == "" || !c.once("tokenizer "+ref.Name+" "+ref.Revision) {
		return
	}
	if err := ref.Check(); err != nil {
		hint := "leave it out to count with the model's tokenizer or o200k_base, or use builtin"
		if !strings.HasPrefix(ref.Name, ".") && !filepath.IsAbs(ref.Name) { // no folder: a name on the hub
			hint += "; --allow-download downloads it"
		}
		c.found("name", ref.Name, "benchmark.tokenizer.name", err.Error(), hint)
	}
}

// endpoint refuses settings of an endpoint type that cannot work, and synthetic
// data that it has no place for, or without what it needs.
func (c *inputCheck) endpoint(b *schema.Benchmark) {
	var turns []*dataset.Turn
	for i := range b.Datasets {
		if d := &b.Datasets[i]; d.Made() {
			turns = append(turns, dataset.Sample(d))
		}
	}
	key, err := json.Marshal([]any{"endpoint", b.Endpoint, turns})
	if err != nil || !c.once(string(key)) {
		return
	}
	spec, err := openEndpoint(b, c.file)
	for i := 0; err == nil && i < len(turns); i++ {
		if spec.Ranks { // made for whoever ranks
			turns[i].Query, turns[i].Passages = "query", []string{"passage"}
		}
		err = spec.Fits(turns[i])
	}
	if err == nil {
		_, err = render.New(&b.Endpoint, b.Models, spec, nil)
	}
	if err != nil && !c.atField(err) {
		c.refused("type", b.Endpoint.Type, "benchmark.endpoint.type", err)
	}
}

// atField refuses err at the field that it names; false when it names none.
func (c *inputCheck) atField(err error) bool {
	var m *diag.Error
	if !errors.As(err, &m) || m.Path == "" {
		return false
	}
	path := "benchmark." + m.Path
	c.bad = append(c.bad, &schema.Error{
		Place: placeAt(c.said, strings.Split(path, ".")),
		Path:  path, Message: m.Message, Hint: m.Hint,
	})
	return true
}

// certificates looks for the files of TLS.
func (c *inputCheck) certificates(e *schema.Endpoint) {
	if !c.once(fmt.Sprintf("TLS %q %q %q", e.CAFile, e.ClientCert, e.ClientKey)) {
		return
	}
	how := transport.Config{CAFile: e.CAFile, ClientCert: e.ClientCert, ClientKey: e.ClientKey}
	if _, err := how.TLS(); err != nil && !c.atField(err) {
		c.refused("", "", "benchmark.endpoint", err)
	}
}

// template looks for the chat template that prompts are to be counted in.
func (c *inputCheck) template(b *schema.Benchmark) {
	ref, model := onerun.TokenizerOf(b), b.Models.Items[0].Name
	if !b.Tokenizer.ApplyChatTemplate || !c.once("template "+b.Endpoint.Type+" "+ref.Name+" "+ref.Revision+" "+model) {
		return
	}
	if _, err := onerun.ChatTemplate(b); err != nil {
		c.refused("apply_chat_template", "true", "benchmark.tokenizer.apply_chat_template", err)
	}
}

// questions refuses a benchmark whose items are not to be had, and an endpoint that
// answers no questions.
func (c *inputCheck) questions(b *schema.Benchmark) {
	a := b.Accuracy
	if a == nil {
		return
	}
	key, err := json.Marshal([]any{"questions", a, b.Endpoint.Type})
	if err != nil || !c.once(string(key)) {
		return
	}
	spec, err := openEndpoint(b, c.file)
	if err != nil {
		return // endpoint says so
	}
	if !spec.TakesText || !spec.ProducesTokens || spec.Ready {
		c.refused("benchmark", a.Benchmark, "benchmark.accuracy.benchmark",
			diag.Errorf("an endpoint of type %s answers no questions", b.Endpoint.Type).Try("use chat or completions"))
		return
	}
	_, err = dataset.Questions(context.Background(), a, Beside(c.file, a.Path),
		dataset.Form{Messages: spec.TakesSystem}, nil)
	if err != nil {
		c.refused("benchmark", a.Benchmark, "benchmark.accuracy.benchmark", err)
	}
}

// published looks for a published data set on this machine.
func (c *inputCheck) published(d schema.Dataset) {
	if d.Dataset == "" || !c.once("public "+d.Dataset+" "+d.HFSubset+" "+d.HFWekaDataset+" "+d.Folder) {
		return
	}
	set, err := dataset.PublicSet(&d)
	if err == nil {
		_, err = set.Find(Beside(c.file, d.Folder))
	}
	if err != nil {
		c.refused("dataset", d.Dataset, "benchmark.datasets."+d.Name+".dataset", err)
	}
}

// builtIn checks the words of a mock: address.
func (c *inputCheck) builtIn(u string) {
	if !mockserver.Named(u) || !c.once(u) {
		return
	}
	cfg, err := mockserver.ParseURL(u)
	if err == nil {
		err = cfg.Knows.Check()
	}
	if err == nil {
		return
	}
	name := ""
	for _, key := range []string{"", "url", "urls"} { // of a list, or of an endpoint among those that are swept
		if placeOf(c.said, key, u).Where != "" {
			name = key
			break
		}
	}
	c.refused(name, u, "benchmark.endpoint.urls", err)
}

// Located gives mistakes that later stations found in doc the place where the
// field was written.
func Located(doc *schema.Document, err error) error {
	var many schema.Errors
	if !errors.As(err, &many) {
		return err
	}
	for _, e := range many {
		if e.Place == "" && e.Path != "" {
			e.Place = placeAt(doc.Said(), strings.Split(e.Path, "."))
		}
	}
	return many
}

// placeAt is where the field at path was written, or the nearest one around
// it; "" if nobody wrote any of them.
func placeAt(s schema.Said, path []string) string {
	here := s.Origin.Where
	if s.Origin.Source == schema.ByDefault {
		here = ""
	}
	if len(path) == 0 {
		return here
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i < len(s.Items) {
		return placeAt(s.Items[i], path[1:])
	}
	for _, x := range s.Fields {
		if x.Name == path[0] {
			return placeAt(x, path[1:])
		}
	}
	return here
}

// placeOf is where the leaf name was given value, empty if nobody did.
func placeOf(s schema.Said, name, value string) schema.Origin {
	if s.Name == name && s.Value == value {
		return s.Origin
	}
	for _, below := range [][]schema.Said{s.Fields, s.Items} {
		for _, x := range below {
			if at := placeOf(x, name, value); at.Where != "" {
				return at
			}
		}
	}
	return schema.Origin{}
}

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

// sources are the files that hold a plan's requests, as the experiment names
// them, with their SHA-256. A file that cannot be read has none: the run that
// needs it says so.
func sources(plan *sweep.Plan, experiment string) map[string]string {
	out := map[string]string{}
	for _, c := range plan.Cells {
		for _, d := range c.Resolved.Benchmark.Datasets {
			if _, known := out[d.Path]; d.Path != "" && !known {
				out[d.Path] = resultdir.DigestBelow(Beside(experiment, d.Path))
			}
		}
		for _, p := range c.Resolved.Benchmark.Plugins() {
			if name := pluginSource(p); out[name] == "" {
				out[name] = sealOf(Beside(experiment, p.Folder))
			}
		}
	}
	return out
}
