package schema

import "io"

// Source is what a command was given: a file, and what is laid over it.
type Source struct {
	File        string       // "" = flags only
	Assignments []Assignment // --set first, then flags, in the order they apply
	// Command is the word after aiperf. "profile" makes the phase and the data
	// set that its flags speak of when no file does, and ignores with a warning
	// what cannot take effect.
	Command string
	Env     func(string) (string, bool) // nil: os.LookupEnv
	// Tags are the metric names that slos and search objectives may use; nil
	// accepts any.
	Tags []string
}

// Document is an experiment that was read, lowered and overlaid; its sweep is
// not expanded yet.
type Document struct{}

func Load(src Source) (*Document, error)                          { return &Document{}, nil }
func (d *Document) Envelope() Experiment                          { return Experiment{} }
func (d *Document) Sweep() Sweep                                  { return Sweep{} }
func (d *Document) Resolve(point []Assignment) (*Resolved, error) { return &Resolved{}, nil }
func (d *Document) Names(point []Assignment) (map[string]any, error) {
	return nil, nil
}
func (d *Document) Explain(w io.Writer, paths ...string) error { return nil }
func (d *Document) Warnings() []string                         { return nil }
func (d *Document) Unsupported() Errors                        { return nil }
func (d *Document) Source() []byte                             { return nil }

func (o Option) Parse(name string, words []string) ([]Assignment, error) { return nil, nil }
func ParseSet(text string) (Assignment, error)                           { return Assignment{}, nil }
func CUE() []byte                                                        { return nil }
func JSONSchema() ([]byte, error)                                        { return nil, nil }
func Vendor(dir string) error                                            { return nil }
func Canonical(path string) string                                       { return path }
