package lower

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

// FlatScale are the names that AIPerf gives the settings of adaptive_scale where they
// stand in the phase itself, each with its path in the block.
var FlatScale = [...][2]string{
	{"adaptive_control_variable", "control.variable"},
	{"adaptive_control_min", "control.min"},
	{"adaptive_control_max", "control.max"},
	{"adaptive_assessment_period", "assessment_period"},
	{"adaptive_min_completed_requests", "min_completed_requests"},
	{"adaptive_sustain_duration", "sustain_duration"},
	{"adaptive_scale_strategy_type", "strategy.type"},
	{"adaptive_scale_step_policy", "strategy.step_policy"},
	{"adaptive_scale_base_step", "strategy.base_step"},
	{"adaptive_scale_max_step_multiplier", "strategy.max_step_multiplier"},
	{"adaptive_scale_step_percent", "strategy.step_percent"},
}

// shortScale are the other names of settings within the block.
var shortScale = [...][2]string{
	{"control_variable", "control.variable"},
	{"control_min", "control.min"},
	{"control_max", "control.max"},
	{"min_concurrency", "control.min"},
	{"max_concurrency", "control.max"},
	{"window", "assessment_period"},
}

// lowerScale brings adaptive_scale of a phase to its one form: a block with its limits in
// it. Switched off it is gone, and its settings with it.
func lowerScale(ph *source.Node) {
	if ph.Kind != source.Object {
		return
	}
	f, given := ph.Pop("adaptive_scale")
	on := given && !off(f.Value) && !off(f.Value.Get("enabled"))
	block := &source.Node{Kind: source.Object, Origin: f.Origin}
	if given && f.Value.Kind == source.Object {
		block = f.Value
	}
	block.Pop("enabled")
	for _, name := range FlatScale {
		if v, ok := ph.Pop(name[0]); ok && on {
			settle(block, name[1], v)
		}
	}
	if !on {
		return
	}
	for _, name := range shortScale {
		if v, ok := block.Pop(name[0]); ok {
			settle(block, name[1], v)
		}
	}
	if v, ok := ph.Pop("sla"); ok && block.Get("sla") == nil {
		block.Put("sla", v.Value)
	}
	if sla := block.Get("sla"); sla != nil && sla.Kind == source.Object {
		block.Put("sla", listedLimits(sla))
	}
	ph.Put("adaptive_scale", block)
}

// off tells whether a switch says no.
func off(n *source.Node) bool {
	if n == nil {
		return false
	}
	switch strings.ToLower(fmt.Sprint(n.Value)) {
	case "false", "no", "off", "0":
		return n.Kind == source.Scalar
	}
	return n.Kind == source.Null
}

// settle puts a field under its path, unless something stands there. A null is no value.
func settle(block *source.Node, path string, f source.Field) {
	if f.Value.Kind == source.Null {
		return
	}
	if outer, name, deep := strings.Cut(path, "."); deep {
		in := block.Get(outer)
		if in == nil {
			in = &source.Node{Kind: source.Object, Origin: f.Origin}
			block.Put(outer, in)
		}
		block, path = in, name
	}
	if block.Kind == source.Object && block.Get(path) == nil {
		block.Put(path, f.Value)
	}
}

// listedLimits makes the list of limits of {metric: {stat: {op: value}}}. What is not of
// that form stays, and is refused where it stands.
func listedLimits(n *source.Node) *source.Node {
	list := &source.Node{Kind: source.List, Origin: n.Origin}
	for _, metric := range n.Fields {
		if metric.Value.Kind != source.Object {
			return n
		}
		for _, stat := range metric.Value.Fields {
			if stat.Value.Kind != source.Object {
				return n
			}
			for _, op := range stat.Value.Fields {
				one := &source.Node{Kind: source.Object, Origin: op.Origin}
				one.Put("metric_tag", source.TextNode(metric.Name, metric.Origin))
				one.Put("stat", source.TextNode(stat.Name, stat.Origin))
				one.Put("op", source.TextNode(op.Name, op.Origin))
				one.Put("threshold", op.Value)
				list.Items = append(list.Items, one)
			}
		}
	}
	return list
}
