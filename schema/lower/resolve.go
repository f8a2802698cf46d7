package lower

import (
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// Defaults fills the defaults that depend on other fields. It works on
// the tree, so that explain can name the reason.
func Defaults(x fields.Table, root *source.Node) {
	if e := root.At("benchmark.endpoint"); e != nil && e.Kind == source.Object {
		resolveEndpoint(e)
	}
	for _, at := range []string{"benchmark.server_metrics", "benchmark.gpu_telemetry"} {
		if m := root.At(at); m != nil && m.Kind == source.Object {
			resolveAddresses(m.Get("urls"))
		}
	}
	if q := root.At("benchmark.accuracy"); q != nil && q.Kind == source.Object && q.Get("mode").Text() != "mixed" {
		Fill(root.Get("benchmark"), "datasets", []any{map[string]any{
			"name": "default", "prompts": map[string]any{"isl": map[string]any{"value": 1}},
		}}, source.Stated, "the questions are asked alone")
	}
	if ds := root.At("benchmark.datasets"); ds != nil {
		for _, s := range ds.Items {
			if s.Kind == source.Object {
				resolveDataset(s)
			}
		}
	}
	if ps := root.At("benchmark.phases"); ps != nil {
		for _, p := range ps.Items {
			if p.Kind == source.Object {
				resolvePhase(p)
			}
		}
	}
	x.FillConditional(root.Get("benchmark"), x["benchmark"], "benchmark")
}

// Fill sets a member that nobody has set.
func Fill(n *source.Node, name string, v any, reason source.Why, why string) {
	if m := n.Get(name); m == nil || m.Kind == source.Null {
		n.Put(name, source.FromPlain(v, source.Because(reason, why)))
	}
}

// resolveEndpoint gives addresses their scheme, and requests with files their encoding.
func resolveEndpoint(e *source.Node) {
	if t := fields.EndpointNamed(e.TypeWord()); t != nil && t.Files {
		Fill(e, "request_content_type", "multipart/form-data", source.Stated, "type "+t.Name)
	}
	resolveAddresses(e.Get("urls"))
}

// resolveAddresses gives addresses their scheme.
func resolveAddresses(urls *source.Node) {
	if urls == nil {
		return
	}
	for i, u := range urls.Items {
		s := u.Text()
		if scheme, rest, ok := strings.Cut(s, "://"); ok && scheme != strings.ToLower(scheme) {
			u.Value = strings.ToLower(scheme) + "://" + rest
		}
		if s == "" || strings.Contains(s, "://") || strings.HasPrefix(s, "mock:") || source.IsTemplate(s) {
			continue
		}
		c := source.TextNode("http://"+s, u.Origin)
		c.Origin.Text = s
		urls.Items[i] = c
	}
}

func resolveDataset(s *source.Node) {
	Fill(s, "type", fields.DatasetTypePresumed().Name, source.Follows, "no type is given")
}

func resolvePhase(p *source.Node) {
	if k := p.Get("kind").Text(); k != "" {
		Fill(p, "exclude_from_results", k == "warmup", source.Stated, "kind "+k)
	}
	if p.Get("rate") != nil || p.Get("rate_series") != nil {
		Fill(p, "type", fields.PhasePresumed("rate").Name, source.Stated, "a rate is set")
	}
	Fill(p, "type", fields.PhasePresumed("").Name, source.Stated, "no rate is set")
	if fields.PhaseNamed(p.TypeWord()).Takes("auto_offset") && p.Get("start_offset") != nil {
		Fill(p, "auto_offset", false, source.Follows, "a start offset is given")
	}
}
