package schema

import "strings"

// resolveDefaults fills the defaults that depend on other fields. It works on
// the tree, so that explain can name the reason.
func resolveDefaults(x index, root *node) {
	if e := root.at("benchmark.endpoint"); e != nil && e.kind == object {
		resolveEndpoint(e)
	}
	if ds := root.at("benchmark.datasets"); ds != nil {
		for _, s := range ds.items {
			if s.kind == object {
				resolveDataset(s)
			}
		}
	}
	if ps := root.at("benchmark.phases"); ps != nil {
		for _, p := range ps.items {
			if p.kind == object {
				resolvePhase(p)
			}
		}
	}
	x.fillConditional(root.get("benchmark"), x["benchmark"], "benchmark")
}

// fill sets a member that nobody has set.
func fill(n *node, name string, v any, why string) {
	if m := n.get(name); m == nil || m.kind == null {
		n.put(name, fromPlain(v, Origin{Source: "default", Where: "default: " + why}))
	}
}

// resolveEndpoint gives addresses their scheme, and requests with files their
// encoding.
func resolveEndpoint(e *node) {
	if t := endpointType(e.typeWord()); t != nil && t.Files {
		fill(e, "request_content_type", "multipart/form-data", "type "+t.Name)
	}
	urls := e.get("urls")
	if urls == nil {
		return
	}
	for i, u := range urls.items {
		s := u.text()
		if scheme, rest, ok := strings.Cut(s, "://"); ok && scheme != strings.ToLower(scheme) {
			u.value = strings.ToLower(scheme) + "://" + rest
		}
		if s == "" || strings.Contains(s, "://") || strings.HasPrefix(s, "mock:") || isTemplate(s) {
			continue
		}
		c := textNode("http://"+s, u.origin)
		c.origin.Text = s
		urls.items[i] = c
	}
}

func resolveDataset(s *node) {
	fill(s, "type", "synthetic", "no type is given")
}

func resolvePhase(p *node) {
	if k := p.get("kind").text(); k != "" {
		fill(p, "exclude_from_results", k == "warmup", "kind "+k)
	}
	if p.get("rate") != nil || p.get("rate_series") != nil {
		fill(p, "type", "poisson", "a rate is set")
	}
	fill(p, "type", "concurrency", "no rate is set")
	if p.typeWord() == "fixed_schedule" && p.get("start_offset") != nil {
		fill(p, "auto_offset", false, "a start offset is given")
	}
}
