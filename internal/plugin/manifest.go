package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/words"
)

// ManifestName is the file that makes a folder a plug-in.
const ManifestName = "aiperf-plugin.yaml"

// maxManifest bounds a manifest, in bytes.
const maxManifest = 64 << 10

// Manifest is what the file says, checked.
type Manifest struct {
	Name        string        `json:"name"`
	Kind        *Kind         `json:"-"`
	Version     string        `json:"version"`
	Description string        `json:"description,omitempty"`
	Command     []string      `json:"command"`
	Timeout     time.Duration `json:"-"` // of one answer

	Format string `json:"format,omitempty"` // of a data set: that of its records

	// Of an endpoint: the path of its API, whether it streams, and where in an answer the
	// text lies, if this program can read it there.
	Path          string `json:"path,omitempty"`
	Streams       bool   `json:"streams,omitempty"`
	ResponseField string `json:"response_field,omitempty"`

	// Of metrics: the columns of the table requests that they are made of, and what they are.
	Columns []string `json:"columns,omitempty"`
	Metrics []Figure `json:"metrics,omitempty"`

	File   string `json:"-"` // the manifest, as it was named
	Folder string `json:"-"`
	Digest string `json:"digest"` // of all files beside the manifest
	text   []byte
}

// Figure is a metric that a plug-in tells of each run.
type Figure struct {
	Name           string `json:"name"`
	Unit           string `json:"unit,omitempty"`
	LargerIsBetter bool   `json:"larger_is_better"`
	Doc            string `json:"description,omitempty"`
}

// Open reads and checks the plug-in at path: its folder, or its manifest. Nothing is run.
func Open(path string) (*Manifest, error) {
	file := path
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		file = filepath.Join(path, ManifestName)
	}
	b, err := readManifest(file)
	if err != nil {
		return nil, err
	}
	m := &Manifest{File: file, Folder: filepath.Dir(file), text: b}
	r := reader{file: file, m: m}
	if err := r.read(b); err != nil {
		return nil, err
	}
	if m.Digest, err = digestOf(m.Folder); err != nil {
		return nil, err
	}
	if r.digest != "" && r.digest != m.Digest {
		return nil, r.at("digest").Try("the files are not those that the manifest was written for: check them, then write "+
			"digest: "+m.Digest, "%s: its files have %s", r.digest, m.Digest)
	}
	return m, nil
}

func readManifest(file string) ([]byte, error) {
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.New(file+": no such plug-in", "a plug-in is a folder with "+ManifestName+": see docs/plugins.md")
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular() || st.Size() > maxManifest:
		return nil, diag.New(file+": is not a file of at most "+"64 KiB", "name the plug-in's folder")
	}
	return os.ReadFile(file)
}

// reader fills a Manifest from a tree of YAML.
type reader struct {
	file   string
	m      *Manifest
	root   *yaml.Node
	digest string
}

// spot is a place in the manifest, to complain at.
type spot struct{ place, key string }

// Try is the complaint: what to do about it, and what is wrong.
func (s spot) Try(hint, format string, args ...any) *diag.Error {
	message := fmt.Sprintf(format, args...)
	if s.key != "" {
		message = s.key + ": " + message
	}
	return &diag.Error{Place: s.place, Message: words.Line(message), Hint: hint}
}

func (r *reader) spotOf(n *yaml.Node, key string) spot {
	return spot{fmt.Sprintf("%s:%d:%d", r.file, max(n.Line, 1), max(n.Column, 1)), key}
}

// at is where a key stands, or the whole file where it does not.
func (r *reader) at(key string) spot {
	if k, _ := member(r.root, key); k != nil {
		return r.spotOf(k, key)
	}
	return spot{r.file, key}
}

func member(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// setting is one key of a manifest.
type setting struct {
	key    string
	needed string // why there must be one; "" where it may be missing
	read   func(r *reader, v *yaml.Node) error
}

// settings are all keys, those of certain kinds last.
func settings() []setting {
	return []setting{
		{"aiperf", "aiperf: 1 says which protocol it speaks", (*reader).protocol},
		{"kind", "one of " + kindNames(), (*reader).kind},
		{"name", "a word that messages call it by", (*reader).name},
		{"version", `such as version: "1.0"`, text("version", func(m *Manifest) *string { return &m.Version })},
		{"command", "the program and its arguments, such as [python3, main.py]", (*reader).command},
		{"description", "", text("description", func(m *Manifest) *string { return &m.Description })},
		{"digest", "", (*reader).wanted},
		{"timeout", "", (*reader).timeout},
		{"format", "", text("format", func(m *Manifest) *string { return &m.Format })},
		{"path", "", (*reader).path},
		{"streams", "", (*reader).streams},
		{"columns", "", (*reader).columns},
		{"metrics", "", (*reader).metrics},
		{"response_field", "", text("response_field", func(m *Manifest) *string { return &m.ResponseField })},
	}
}

func (r *reader) read(b []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := decode(dec, &doc); err != nil {
		if errors.Is(err, io.EOF) {
			return spot{place: r.file}.Try("see docs/plugins.md", "the manifest is empty")
		}
		return spot{place: r.file}.Try("check quotes and indentation", "%s",
			strings.TrimPrefix(words.Line(err.Error()), "yaml: "))
	}
	if err := decode(dec, new(yaml.Node)); !errors.Is(err, io.EOF) {
		return spot{place: r.file}.Try("one file describes one plug-in", "a second document")
	}
	r.root = doc.Content[0]
	if r.root.Kind != yaml.MappingNode {
		return r.spotOf(r.root, "").Try("see docs/plugins.md", "a manifest is a mapping of keys")
	}
	if k, _ := member(r.root, "schema_version"); k != nil {
		return r.spotOf(k, "").Try("a plug-in here is a program, see docs/plugins.md",
			"a manifest of AIPerf's: its Python classes cannot be loaded")
	}
	if err := r.keys(); err != nil {
		return err
	}
	for _, s := range settings() {
		_, v := member(r.root, s.key)
		if v == nil {
			if s.needed != "" {
				return spot{r.file, s.key}.Try(s.needed, "required")
			}
			continue
		}
		if err := s.read(r, v); err != nil {
			return err
		}
	}
	return nil
}

// decode reads one document; the library panics on some broken input.
func decode(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("not valid YAML: " + secret.Panic(p))
		}
	}()
	return dec.Decode(doc)
}

// keys refuses those that are not known or stand there twice.
func (r *reader) keys() error {
	var known []string
	for _, s := range settings() {
		known = append(known, s.key)
	}
	return r.only(r.root, known)
}

func (r *reader) only(n *yaml.Node, known []string) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode || !slices.Contains(known, k.Value):
			hint := "keys: " + strings.Join(known, ", ")
			if s := suggest.Nearest(k.Value, known); s != "" {
				hint = "did you mean " + s + "?"
			}
			return r.spotOf(k, "").Try(hint, "unknown key %s", words.Clip(k.Value, 40))
		case seen[k.Value]:
			return r.spotOf(k, k.Value).Try("keep one of them", "given twice")
		}
		seen[k.Value] = true
	}
	return nil
}

func text(key string, of func(*Manifest) *string) func(*reader, *yaml.Node) error {
	return func(r *reader, v *yaml.Node) error {
		s, err := r.line(v, key)
		*of(r.m) = s
		return err
	}
}

// line is one line of text.
func (r *reader) line(v *yaml.Node, key string) (string, error) {
	if v.Kind != yaml.ScalarNode || v.Value == "" || v.Tag == "!!null" || strings.ContainsAny(v.Value, "\n\r\x00\x1b") ||
		len(v.Value) > 1000 {
		return "", r.spotOf(v, key).Try("write it in quotes", "want a line of text")
	}
	return v.Value, nil
}

func (r *reader) protocol(v *yaml.Node) error {
	if v.Value != strconv.Itoa(Protocol) {
		return r.spotOf(v, "aiperf").Try(fmt.Sprintf("aiperf: %d is what this program speaks", Protocol),
			"protocol %s is not known", words.Clip(v.Value, 20))
	}
	return nil
}

func (r *reader) kind(v *yaml.Node) error {
	if r.m.Kind = kindNamed(v.Value); r.m.Kind == nil {
		return r.spotOf(v, "kind").Try("kinds: "+kindNames(), "%q is not a kind of plug-in", words.Clip(v.Value, 40))
	}
	r.m.Timeout = r.m.Kind.Patience
	for _, k := range Kinds() {
		for _, key := range k.Takes {
			if at, _ := member(r.root, key); at != nil && !slices.Contains(r.m.Kind.Takes, key) {
				return r.spotOf(at, key).Try("leave it out", "is not a setting of a plug-in of kind %s", r.m.Kind.Name)
			}
		}
	}
	for _, key := range r.m.Kind.Needs {
		if at, _ := member(r.root, key); at == nil {
			return spot{r.file, key}.Try("a plug-in of kind "+r.m.Kind.Name+" has it", "required")
		}
	}
	return nil
}

var nameOf = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

func (r *reader) name(v *yaml.Node) error {
	if r.m.Name = v.Value; !nameOf.MatchString(v.Value) {
		return r.spotOf(v, "name").Try("letters a to z, digits, - and _, at most 64", "%q is not a name", words.Clip(v.Value, 40))
	}
	return nil
}

func (r *reader) columns(v *yaml.Node) (err error) {
	r.m.Columns, err = r.list(v, "columns")
	return err
}

var figureNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// metrics are what the program tells of a run, by their names.
func (r *reader) metrics(v *yaml.Node) error {
	if v.Kind != yaml.MappingNode || len(v.Content) == 0 || len(v.Content) > 200 {
		return r.spotOf(v, "metrics").Try("write it as slow_share: {unit: ratio, better: lower}", "want metrics by name")
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, said := v.Content[i], v.Content[i+1]
		f := Figure{Name: k.Value}
		if !figureNames.MatchString(k.Value) {
			return r.spotOf(k, "metrics").Try("letters a to z, digits and _, at most 64", "%q is not a name",
				words.Clip(k.Value, 40))
		}
		if slices.ContainsFunc(r.m.Metrics, func(had Figure) bool { return had.Name == f.Name }) {
			return r.spotOf(k, "metrics."+f.Name).Try("keep one of them", "given twice")
		}
		if err := r.figure(&f, said); err != nil {
			return err
		}
		r.m.Metrics = append(r.m.Metrics, f)
	}
	return nil
}

// figure reads what a metric is.
func (r *reader) figure(f *Figure, v *yaml.Node) error {
	path := "metrics." + f.Name
	if v.Kind != yaml.MappingNode {
		return r.spotOf(v, path).Try("write it as {unit: ratio, better: lower}", "want its unit and direction")
	}
	if err := r.only(v, []string{"unit", "better", "description"}); err != nil {
		return err
	}
	_, better := member(v, "better")
	if better == nil || better.Value != "higher" && better.Value != "lower" {
		return r.spotOf(v, path).Try("better: higher, or better: lower", "want which way it is better")
	}
	f.LargerIsBetter = better.Value == "higher"
	for key, into := range map[string]*string{"unit": &f.Unit, "description": &f.Doc} {
		if _, said := member(v, key); said != nil {
			line, err := r.line(said, path+"."+key)
			if err != nil {
				return err
			}
			*into = line
		}
	}
	return nil
}

var digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (r *reader) wanted(v *yaml.Node) error {
	if r.digest = v.Value; !digests.MatchString(v.Value) {
		return r.spotOf(v, "digest").Try("aiperf plugins validate prints it", "want sha256: and 64 hex digits")
	}
	return nil
}

// maxTimeout bounds what a manifest may ask for.
const maxTimeout = 24 * time.Hour

func (r *reader) timeout(v *yaml.Node) error {
	s, err := strconv.ParseFloat(v.Value, 64)
	if err != nil || !(s > 0) || s > maxTimeout.Seconds() {
		return r.spotOf(v, "timeout").Try("seconds that one answer may take, at most a day", "want a number above 0")
	}
	r.m.Timeout = time.Duration(s * float64(time.Second))
	return nil
}

// command is the program and its arguments. A word with a slash is a file beside the
// manifest: what lies elsewhere is not part of the plug-in, and has no place in its digest.
func (r *reader) command(v *yaml.Node) error {
	list, err := r.list(v, "command")
	if err != nil {
		return err
	}
	for i, w := range list {
		if escapes(w) || i == 0 && filepath.IsAbs(w) {
			return r.spotOf(v.Content[i], "command").Try("name a program on PATH, or a file beside the manifest",
				"%s leaves the plug-in's folder", words.Clip(w, 80))
		}
	}
	r.m.Command = list
	return nil
}

// escapes reports whether a word is a path that leads upwards.
func escapes(w string) bool {
	return slices.Contains(strings.FieldsFunc(w, func(c rune) bool { return c == '/' || c == '\\' }), "..")
}

func (r *reader) list(v *yaml.Node, key string) ([]string, error) {
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 || len(v.Content) > 1000 {
		return nil, r.spotOf(v, key).Try("write it as [one, two]", "want a list of words")
	}
	var out []string
	for _, c := range v.Content {
		w, err := r.line(c, key)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func (r *reader) path(v *yaml.Node) error {
	if r.m.Path = v.Value; !strings.HasPrefix(v.Value, "/") || strings.ContainsAny(v.Value, " \n\r#?") {
		return r.spotOf(v, "path").Try("such as /v1/generate", "want a path below the server's address")
	}
	return nil
}

func (r *reader) streams(v *yaml.Node) error {
	if r.m.Streams = v.Value == "true"; v.Value != "true" && v.Value != "false" {
		return r.spotOf(v, "streams").Try("", "want true or false")
	}
	return nil
}

// program is the command with its program found: beside the manifest where it is written
// with a slash, else on PATH.
func (m *Manifest) program() (string, error) {
	name := m.Command[0]
	wrong := func(why, hint string) error {
		return diag.New(fmt.Sprintf("plug-in %s: command %s: %s", m.Name, name, why), hint)
	}
	if !strings.ContainsRune(name, '/') {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", wrong("is not on PATH", "install it, or name a file beside "+m.File+" as ./"+name)
		}
		return filepath.Abs(path)
	}
	path, err := filepath.Abs(filepath.Join(m.Folder, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	switch st, err := os.Stat(path); {
	case err != nil:
		return "", wrong("no such file", "it is looked for in "+m.Folder)
	case st.IsDir() || runtime.GOOS != "windows" && st.Mode()&0o111 == 0:
		return "", wrong("cannot be executed", "chmod +x "+filepath.Join(m.Folder, name))
	}
	return path, nil
}

// Found is a manifest in a folder of plug-ins, or why it cannot be used.
type Found struct {
	Path     string
	Manifest *Manifest
	Err      error
}

// Find looks for plug-ins: in folder itself, and in the folders in it, by their names.
func Find(folder string) (out []Found) {
	places, _ := filepath.Glob(filepath.Join(escapeGlob(folder), "*", ManifestName))
	slices.Sort(places)
	for _, at := range append([]string{filepath.Join(folder, ManifestName)}, places...) {
		if _, err := os.Stat(at); err != nil {
			continue
		}
		m, err := Open(at)
		out = append(out, Found{filepath.Dir(at), m, err})
	}
	return out
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// OpenAs is Open of a plug-in that must be of a kind.
func OpenAs(kind, path string) (*Manifest, error) {
	m, err := Open(path)
	if err != nil {
		return nil, err
	}
	if m.Kind.Name != kind {
		return nil, diag.New(fmt.Sprintf("plug-in %s is of kind %s, and kind %s is wanted", m.Name, m.Kind.Name, kind),
			"docs/plugins.md has the setting of each kind")
	}
	return m, nil
}
