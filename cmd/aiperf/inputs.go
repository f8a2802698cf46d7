package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// inputs refuses a plan whose request files, tokenizer or built-in server are
// not to be had, before anything is sent or written; file is the experiment's
// own.
func inputs(doc *schema.Document, plan *sweep.Plan, file string) error {
	c := inputCheck{said: doc.Said(), file: file, seen: map[string]bool{}}
	for _, cell := range plan.Cells {
		b := cell.Resolved.Benchmark
		for i, d := range b.Datasets {
			c.records("benchmark.datasets."+d.Name+".path", d.Path)
			c.size(i, d)
		}
		c.tokenizer(b.Tokenizer.Name)
		for _, u := range b.Endpoint.URLs {
			c.builtIn(u)
		}
	}
	if len(c.bad) > 0 {
		return c.bad
	}
	return nil
}

// inputCheck looks at each input once, whatever the number of cells.
type inputCheck struct {
	said schema.Said
	file string
	seen map[string]bool
	bad  schema.Errors
}

// once tells whether value is there and was not looked at before.
func (c *inputCheck) once(value string) bool {
	again := c.seen[value]
	c.seen[value] = true
	return value != "" && !again
}

func (c *inputCheck) found(name, value, path, message, hint string) {
	c.bad = append(c.bad, &schema.Error{Place: placeOf(c.said, name, value), Path: path, Message: message, Hint: hint})
}

func (c *inputCheck) records(path, name string) {
	if !c.once(name) {
		return
	}
	if _, err := os.Stat(runner.Beside(c.file, name)); errors.Is(err, fs.ErrNotExist) {
		c.found("path", name, path, "no such file: "+name, "paths are seen from the working directory, else from the experiment's folder")
	}
}

// size refuses what is more text than anything takes.
func (c *inputCheck) size(i int, d schema.Dataset) {
	field, size, limit := dataset.TooLarge(&d)
	if field == "" || !c.once(fmt.Sprint(field, size)) {
		return
	}
	at := placeAt(c.said, strings.Split("benchmark.datasets."+strconv.Itoa(i)+"."+field+".mean", "."))
	c.bad = append(c.bad, &schema.Error{
		Place: at, Path: "benchmark.datasets." + d.Name + "." + field,
		Message: fmt.Sprintf("%.12g is above the limit of %.0f", size, limit),
	})
}

func (c *inputCheck) tokenizer(name string) {
	if !c.once("tokenizer " + name) {
		return
	}
	if err := tokenizer.Check(name); err != nil {
		message := strings.TrimLeft(strings.TrimPrefix(err.Error(), "tokenizer"), ": ")
		c.found("name", name, "benchmark.tokenizer.name", message, "leave it out to count by the model's own or by o200k_base, or use builtin; nothing is downloaded")
	}
}

// builtIn checks the words of a mock: address.
func (c *inputCheck) builtIn(u string) {
	if !runner.IsMock(u) || !c.once(u) {
		return
	}
	if _, err := mockserver.ParseURL(u); err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		c.found("", u, "benchmark.endpoint.urls", message, hint)
	}
}
