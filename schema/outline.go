package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// outline is what stands around the body of a cell, checked: the envelope and the
// matrix.
type outline struct {
	envelope Experiment
	sweep    Sweep
	block    *source.Node // the sweep as written
	rendered *source.Node // the experiment without it, in the form that is checked
	unread   Errors       // templates in it that could not be filled in
}

// outline takes the sweep out of the draft, and checks and reads what stands
// around the body. After mistakes it is as far as it could be read.
func (d *draft) outline() (outline, Errors) {
	block, _ := d.root.Pop("sweep")
	if block.Value == nil {
		block.Value = source.ObjectNode(source.Origin{})
	}
	o := outline{block: block.Value, sweep: Sweep{Hide: d.checker.hide}}
	o.rendered, o.unread = normalForm(d.index, &lower.Renderer{}, d.root.Clone(), lower.HasTemplates(d.root))
	if o.rendered == nil {
		return o, o.unread
	}
	members, errs := d.checkEnvelope(o.rendered)
	bad := append(slices.Clone(o.unread), besides(o.unread, errs)...)
	checked, errs := d.sweepBlock(o.block)
	bad = append(bad, besides(o.unread, errs)...)
	js, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(js, &o.envelope)
	}
	if err != nil {
		return o, append(bad, &Error{Message: err.Error()})
	}
	o.envelope.Raised = d.raised
	o.envelope.Name = cmp.Or(o.envelope.Name, defaultName(d.src.File))
	o.sweep.Ruled = ruledByAIPerf(o.rendered.Get("multi_run"), o.block)
	bad = append(bad, tooManyRuns(o.rendered.At("multi_run.num_runs"), o.envelope.MultiRun.NumRuns)...)
	errs = d.readSweep(&o.sweep, o.block, checked)
	return o, append(bad, without(bad, errs)...)
}

// checkEnvelope checks the members around the body and gives their JSON by name.
func (d *draft) checkEnvelope(root *source.Node) (map[string]json.RawMessage, Errors) {
	var bad Errors
	members := map[string]json.RawMessage{}
	for _, f := range root.Fields {
		if f.Name == "benchmark" || f.Value.Kind == source.Null {
			continue
		}
		p, errs := d.checker.check(root, f.Name, f.Value)
		bad = append(bad, errs...)
		if p != nil {
			members[f.Name] = p.secret
		}
	}
	for _, name := range []string{"multi_run", "tables"} { // with their defaults, said or not
		if members[name] == nil && d.index[name] != nil && root.Get(name) == nil {
			if p, errs := d.checker.check(root, name, source.ObjectNode(source.Origin{})); errs == nil {
				members[name] = p.secret
			}
		}
	}
	return members, bad
}

// mostRunsByFlag is what AIPerf's flag takes.
const mostRunsByFlag = 10

// TrialsOption is what to type for n trials of each cell: AIPerf's flag as far as it goes.
func TrialsOption(n int) string {
	if n > mostRunsByFlag {
		return fmt.Sprintf("--set multi_run.num_runs=%d", n)
	}
	return fmt.Sprintf("--num-profile-runs %d", n)
}

// tooManyRuns refuses more trials by the flag than AIPerf takes there.
func tooManyRuns(n *source.Node, runs int) Errors {
	if n == nil || n.Origin.Source != source.ByFlag || runs <= mostRunsByFlag {
		return nil
	}
	return source.Mistake(n.Origin, "multi_run.num_runs", fmt.Sprintf("must be at most %d, got %d", mostRunsByFlag,
		runs), TrialsOption(runs)+", or in a file: up to 1,000")
}

// ruledByAIPerf are the settings of AIPerf's about seeds and warmup that are
// given, by their names. In a file that says all three, cue export has written the
// defaults out: of those only the others were somebody's wish.
func ruledByAIPerf(multiRun, sweep *source.Node) map[string]bool {
	said, asUsual := map[string]bool{}, map[string]bool{}
	for name, usual := range map[string]bool{
		"set_consistent_seed": true, "vary_seed_per_trial": false,
		"disable_warmup_after_first": true,
	} {
		if n := multiRun.Get(name); n != nil && n.Origin.Source != source.ByDefault {
			said[name] = true
			asUsual[name] = n.Value == usual && n.Origin.Source != source.ByFlag
		}
	}
	if len(said) == 3 {
		maps.DeleteFunc(said, func(name string, _ bool) bool { return asUsual[name] })
	}
	if n := sweep.Get("same_seed"); n != nil && n.Origin.Source != source.ByDefault {
		said["same_seed"] = true
	}
	return said
}

func defaultName(file string) string {
	if file == "" {
		return "profile"
	}
	base := filepath.Base(file)
	if abs, err := filepath.Abs(file); err == nil {
		base = filepath.Base(abs) // of a folder such as .
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// sweepBlock checks the sweep block as a whole and reads what is not about paths of
// the body.
func (d *draft) sweepBlock(sw *source.Node) (*sweepFields, Errors) {
	if sw.Kind != source.Object && sw.Kind != source.Null {
		return nil, source.Mistake(sw.Origin, "sweep", "expected an object, got "+sw.KindName(),
			"such as sweep: {parameters: {concurrency: [1, 4]}}")
	}
	if len(sw.Fields) == 0 {
		return &sweepFields{}, nil
	}
	c := sw.Clone()
	if c.Get("type") == nil && c.Get("recipe") == nil {
		c.Put("type", source.TextNode(fields.SweepTaking("parameters", false).Name,
			source.Origin{Source: source.ByDefault, Where: sw.Origin.Where}))
	}
	if c.Get("parameters") == nil && len(d.axes.All) > 0 && fields.SweepNamed(c.TypeWord()).Takes("parameters") {
		ps := source.ObjectNode(d.axes.All[0].Origin)
		for _, a := range d.axes.All {
			ps.Put(a.Path, &source.Node{Kind: source.List, Items: a.Values, Origin: a.Origin})
		}
		c.Put("parameters", ps)
	}
	c = d.index.Normalize(c, d.index["sweep"], "sweep")
	whole := source.ObjectNode(sw.Origin)
	whole.Put("sweep", c)
	if c.Get("type") != nil { // a recipe alone says no type
		d.index.FillConditional(c, d.index["sweep"], "sweep")
	}
	p, bad := d.checker.check(whole, "sweep", c)
	if bad != nil {
		return nil, bad
	}
	block := &sweepFields{}
	if err := json.Unmarshal(p.secret, block); err != nil {
		panic("a checked sweep does not fit its struct: " + err.Error()) // a test reads all of them
	}
	return block, nil
}

// sweepFields are the fields of a checked sweep that are not about paths of the body.
type sweepFields struct {
	Type            string           `json:"type"`
	IterationOrder  string           `json:"iteration_order"`
	Order           string           `json:"order"`
	CooldownSeconds float64          `json:"cooldown_seconds"`
	SameSeed        bool             `json:"same_seed"`
	Samples         int              `json:"samples"`
	Seed            *int64           `json:"seed"`
	Scramble        *bool            `json:"scramble"`
	Optimization    string           `json:"optimization"`
	LabelFormat     string           `json:"label_format"`
	Dimensions      []sweepDimension `json:"dimensions"`
	Filters         []SLAFilter      `json:"sla_filters"`
	PostProcess     *PostProcess     `json:"post_process"`
	RecipeName      string           `json:"recipe_name"`
	Adaptive
}

type sweepDimension struct {
	Path  string  `json:"path"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Scale string  `json:"scale"`
	Kind  string  `json:"kind"`
}

// varies reports whether there are cells with points. The body of an adaptive search is one
// by itself, whose points are not known yet.
func (s *Sweep) varies() bool {
	return len(s.Axes)+len(s.Scenarios)+len(s.Derive) > 0 || s.Type != "" && s.Adaptive == nil &&
		s.Type != fields.SweepTaking("parameters", false).Name
}
