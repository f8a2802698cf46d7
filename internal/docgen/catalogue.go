package docgen

import (
	"bytes"
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset"
	formats "aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sweep"
)

// Catalogues are the rows of the Go catalogues as the schema needs them.
type Catalogues struct {
	Endpoints []fields.EndpointType
	Sources   []fields.DatasetType
	Formats   []fields.DatasetFormat
	Published []fields.PublicSet
	Phases    []fields.PhaseType
	Sweeps    []fields.SweepType
	Rules     struct{ Dataset, Phase, Sweep []typed } // what their types take
}

// FromGo reads the catalogues. A fact that the schema should know is one line
// here; a row that is added needs none.
func FromGo() Catalogues {
	var c Catalogues
	for _, e := range endpoint.Catalogue() {
		c.Endpoints = append(c.Endpoints, fields.EndpointType{
			Name: e.Type, Streams: e.CanStream, StreamsRPC: e.CanStream || e.RPCStreamPath != "",
			Tokens: e.ProducesTokens, Text: e.TakesText,
			Ranks: e.Ranks, System: e.TakesSystem, LegacyMaxTokens: e.LegacyMaxTokens,
			Files:  strings.HasPrefix(e.ContentType, "multipart/"),
			Images: e.Takes&endpoint.Images != 0, Audio: e.Takes&endpoint.Audios != 0,
			Video:      e.Takes&endpoint.Videos != 0,
			UsageAsked: e.UsageAsked, Templated: e.Messages != nil, KeyHeader: e.KeyHeader, Settings: e.Settings,
		})
	}
	for _, t := range dataset.Types() {
		c.Sources = append(c.Sources, fields.DatasetType{Name: t.Name, Made: t.Made, Settings: names(t.Takes)})
		c.Rules.Dataset = append(c.Rules.Dataset, typed{t.Name, t.Takes, t.Instead})
	}
	for _, f := range formats.Catalogue() {
		c.Formats = append(c.Formats, fields.DatasetFormat{
			Name: f.Name, Trace: f.Trace, Complete: f.Complete,
			Verbatim: f.Verbatim, Promotes: f.Promotes, Trees: f.Trees, Settings: f.Settings,
		})
	}
	for _, s := range public.Catalogue() {
		c.Published = append(c.Published, fields.PublicSet{Name: s.Name, Format: s.Format})
	}
	for _, m := range mode.Catalogue() {
		if !m.BySetting() {
			c.Phases = append(c.Phases, fields.PhaseType{
				Name: m.Name, Settings: names(m.Takes), Pattern: m.Pattern, Presumed: m.Presumed,
				Closed: m.Closed, Ends: m.Ends, Timed: m.Timed,
				Turns: m.Turns, Requests: m.Requests, PerSlot: m.PerSlot, Primed: m.Primed,
			})
			c.Rules.Phase = append(c.Rules.Phase, typed{m.Name, m.Takes, m.Instead})
		}
	}
	for _, k := range sweep.Kinds() {
		c.Sweeps = append(c.Sweeps, fields.SweepType{
			Name: k.Name, Settings: names(k.Takes), Sampled: k.Sampled,
			InStep: k.InStep,
		})
		c.Rules.Sweep = append(c.Rules.Sweep, typed{k.Name, k.Takes, nil})
	}
	return c
}

// Facts is schema/fields/catalogue_gen.go.
func (c Catalogues) Facts() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from the catalogues by go generate ./schema. DO NOT EDIT.\n\npackage fields\n")
	goRows(&b, "endpointTypes", c.Endpoints)
	goRows(&b, "datasetTypes", c.Sources)
	goRows(&b, "datasetFormats", c.Formats)
	goRows(&b, "publicSets", c.Published)
	goRows(&b, "phaseTypes", c.Phases)
	goRows(&b, "sweepTypes", c.Sweeps)
	return format.Source(b.Bytes())
}

func goRows[T any](b *bytes.Buffer, name string, rows []T) {
	fmt.Fprintf(b, "\nvar %s = []%s{\n", name, reflect.TypeFor[T]().Name())
	for _, r := range rows {
		b.WriteString("\t{")
		sep := ""
		for i, v := 0, reflect.ValueOf(r); i < v.NumField(); i++ {
			if f := v.Field(i); !f.IsZero() {
				fmt.Fprintf(b, "%s%s: %#v", sep, v.Type().Field(i).Name, f.Interface())
				sep = ", "
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
}

// Enums is schema/catalogue_gen.cue: the words of the enums, those that are
// known and not built at the end.
func (c Catalogues) Enums() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the catalogues by go generate ./schema. DO NOT EDIT.\n\npackage schema\n\n")
	enum(&b, "EndpointType", "benchmark.endpoint.type", names(c.Endpoints))
	enum(&b, "DatasetType", "benchmark.datasets.*.type", names(c.Sources))
	enum(&b, "DatasetFormat", "benchmark.datasets.*.format", names(c.Formats))
	enum(&b, "PublicDataset", "benchmark.datasets.*.dataset", names(public.Catalogue()))
	enum(&b, "PhaseType", "benchmark.phases.*.type", names(c.Phases))
	enum(&b, "SweepType", "sweep.type", names(c.Sweeps))
	enum(&b, "SchemaVersion", "schema_version", names(fields.Versions()))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func names[T any](rows []T) (out []string) {
	for _, r := range rows {
		out = append(out, reflect.ValueOf(r).FieldByName("Name").String())
	}
	return out
}

func enum(b *bytes.Buffer, name, path string, words []string) {
	for _, w := range fields.AbsentWords(path) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	fmt.Fprintf(b, "#%s: \"%s\"\n\n", name, strings.Join(words, `" | "`))
}
