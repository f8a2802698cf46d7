// Package jinja parses and runs templates in the language of Jinja2. In goes a
// text with {{ … }}, out comes a template that turns named values into a text.
// Templates read no files, and an undefined name is a mistake.
package jinja

import (
	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

// Template is a parsed text. It is safe for concurrent use.
type Template struct{ t *exec.Template }

// Parse is gonja's own constructor without a loader for files: the stock one
// lets {% include %} read any.
func Parse(text string) (*Template, error) {
	loader, err := loaders.NewMemoryLoader(map[string]string{"/t": text})
	if err != nil {
		return nil, err
	}
	cfg := config.New()
	cfg.StrictUndefined = true
	t, err := exec.NewTemplate("/t", cfg, loader, gonja.DefaultEnvironment)
	return &Template{t}, err
}

// Run is the text that the template makes of values.
func (t *Template) Run(values map[string]any) (string, error) {
	return t.t.ExecuteToString(exec.NewContext(values))
}
