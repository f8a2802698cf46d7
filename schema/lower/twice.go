package lower

import (
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// pair is two fields that say the same thing of one object. In one text they are a
// mistake; what is laid over an experiment takes the place of either.
type pair struct{ in, one, other string }

var pairs = []pair{
	{"benchmark", "model", "models"},
	{"benchmark", "dataset", "datasets"},
	{"benchmark", "warmup", "phases"},
	{"benchmark", "profiling", "phases"},
	{"benchmark.endpoint", "url", "urls"},
	{"benchmark.server_metrics", "url", "urls"},
	{"benchmark.gpu_telemetry", "url", "urls"},
	{"benchmark.datasets.*", "isl", "prompts.isl"},
	{"benchmark.datasets.*", "osl", "prompts.osl"},
	{"benchmark.datasets.*", "records", "path"},
	{"benchmark.datasets.*", "system_prompt", "system_prompt_file"},
	{"benchmark.datasets.*", "cache_bust", "prompts.cache_bust"},
	{"benchmark.datasets.*", "block_size", "prompts.block_size"},
	{"benchmark.datasets.*", "prompt_batch_size", "prompts.batch_size"},
	{"benchmark.datasets.*", "image_batch_size", "images.batch_size"},
	{"benchmark.datasets.*", "audio_batch_size", "audio.batch_size"},
	{"benchmark.datasets.*", "video_batch_size", "video.batch_size"},
	{"benchmark.datasets.*.prompts", "corpus", "corpus_file"},
	{"benchmark.datasets.*.prompts.sequence_distribution.*", "isl_stddev", "isl.stddev"},
	{"benchmark.datasets.*.prompts.sequence_distribution.*", "osl_stddev", "osl.stddev"},
	{"benchmark.phases.*", "rate_series", "rate"},
}

// Twice finds what n, the object at the starred path at, says twice, and takes one
// of both out.
func Twice(x fields.Table, n *source.Node, at, shown string) (bad diag.Errors) {
	for _, p := range pairs {
		if p.in != at && !strings.HasPrefix(p.in, at+".") {
			continue
		}
		each(n, strings.Split(strings.Trim(p.in[len(at):], "."), "."), shown, func(o *source.Node, path string) {
			one, other := fieldAt(o, p.one), fieldAt(o, p.other)
			if one == nil || other == nil || !p.rewritten(x) &&
				(!said(x, p.in, p.one, one) || !said(x, p.in, p.other, other)) {
				return
			}
			twice := source.Mistake(one.Origin, source.Join(path, p.one),
				"cannot be combined with "+p.other+" at "+other.Origin.Where, "keep one of them")
			twice[0].Twice = true
			bad = append(bad, twice...)
			o.Pop(p.one)
		})
	}
	return bad
}

// each calls f with the objects at a path below n.
func each(n *source.Node, parts []string, shown string, f func(o *source.Node, path string)) {
	switch {
	case n == nil:
	case len(parts) == 0 || parts[0] == "":
		f(n, shown)
	case parts[0] == "*":
		for i := range n.Items {
			each(n.Items[i], parts[1:], source.Join(shown, strconv.Itoa(i)), f)
		}
	default:
		each(n.Get(parts[0]), parts[1:], source.Join(shown, parts[0]), f)
	}
}

// fieldAt is the field at a path below n, with the place of its key.
func fieldAt(n *source.Node, path string) *source.Field {
	parent, last := source.Cut(path)
	if parent != "" {
		n = n.At(parent)
	}
	if n == nil {
		return nil
	}
	if f := n.Field(last); f != nil && f.Value.Kind != source.Null { // which says nothing
		return f
	}
	return nil
}

// said reports whether the field says something that is not so anyway.
func said(x fields.Table, in, name string, f *source.Field) bool {
	return x.Said(x[source.Join(in, name)], f.Value) != nil
}

// rewritten reports whether one is a spelling that becomes the other.
func (p *pair) rewritten(x fields.Table) bool {
	l := x[source.Join(p.in, p.one)]
	return l != nil && l.Lower != ""
}

// replace takes out of root what says the same as path, which was laid over it.
func replace(x fields.Table, root *source.Node, path string) {
	starred := x.Starred(path)
	for _, p := range pairs {
		if p.rewritten(x) {
			continue
		}
		for _, k := range [][2]string{{p.one, p.other}, {p.other, p.one}} {
			own := source.Join(p.in, k[0])
			if starred != own && !strings.HasPrefix(starred, own+".") {
				continue
			}
			parts := source.SplitPath(path)
			o, bad := Reach(x, root, strings.Join(parts[:len(source.SplitPath(p.in))], "."), source.Origin{})
			if f := fieldAt(o, k[1]); bad == nil && f != nil && !f.Value.Origin.Source.Typed() {
				o.Remove(source.SplitPath(k[1]))
			}
		}
	}
}
