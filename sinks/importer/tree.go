package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// spread adds the statistics of a metric: an object of them, or a number. scale is what
// the unit of the file is worth in that of the definitions.
func (r *Run) spread(key, metric string, v any, scale float64) {
	switch x := v.(type) {
	case float64:
		r.Figures = append(r.Figures, Figure{Key: key, Metric: metric, Value: x, Scale: scale})
	case map[string]any:
		for _, name := range sortedKeys(x) {
			if name == "percentiles" {
				r.spread(key+"."+name, metric, x[name], scale)
			} else if f, ok := x[name].(float64); ok {
				of := scale
				if name == "count" {
					of = 1
				}
				r.Figures = append(r.Figures, Figure{key + "." + name, metric, statName(name), f, of})
			}
		}
	}
}

// statNames are what tools call statistics.
var statNames = map[string]string{
	"mean": "avg", "median": "p50", "std_dev": "std", "stddev": "std", "total_sum": "sum", "total": "sum",
	"p99.9": "p999", "p99p9": "p999",
}

// statName is a statistic by our name: "p05", "5" and "p5.0" are p5.
func statName(name string) string {
	if ours, ok := statNames[name]; ok {
		return ours
	}
	digits := strings.TrimPrefix(name, "p")
	if strings.HasPrefix(digits, "00") { // p001: a tenth of a percent
		return "p0.1"
	}
	v, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil:
		return name
	case v == 999 || v == 99.9:
		return "p999"
	}
	return "p" + strconv.FormatFloat(v, 'f', -1, 64)
}

// branch is the value at names, nil where there is none.
func branch(v any, names ...string) any {
	for _, n := range names {
		m, _ := v.(map[string]any)
		v = m[n]
	}
	return v
}

// mostTree bounds a document that is held in memory, in members and items.
const mostTree = 2_000_000

// tree decodes the value that comes next, without the members that leave names by their
// path, such as "requests".
func tree(d *json.Decoder, left *int, at string, leave func(at string) bool) (any, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("more than %d values in its summary", mostTree)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		out := map[string]any{}
		err := members(d, func(key string) (bool, error) {
			path := strings.TrimPrefix(at+"."+key, ".")
			if leave(path) || strings.Count(path, ".") > deepestValue {
				return false, nil
			}
			v, err := tree(d, left, path, leave)
			out[key] = v
			return true, err
		})
		return out, err
	case json.Delim('['):
		var out []any
		for d.More() {
			v, err := tree(d, left, at, leave)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err := d.Token()
		return out, err
	}
	return t, nil
}

// document reads a file of one object as a tree.
func document(path string, leave func(at string) bool) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, left := json.NewDecoder(fromPython(f)), mostTree
	v, err := tree(d, &left, "", leave)
	if err != nil {
		return nil, damaged(d, err)
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a JSON object was expected")
	}
	return doc, nil
}

// eachAt calls take with each item of the list at a path of names, the k-th of the
// lists by that name; an item is held in memory, the list is not.
func eachAt(path string, names []string, k int, take func(v any) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d, seen := json.NewDecoder(fromPython(f)), 0
	d.UseNumber() // moments in ns have more digits than a double
	var walk func(names []string) error
	walk = func(names []string) error {
		t, err := d.Token()
		switch {
		case err != nil || t == nil:
			return err
		case t == json.Delim('['):
			for d.More() {
				if len(names) > 0 {
					err = walk(names)
				} else if left := mostTree; seen == k {
					var v any
					if v, err = tree(d, &left, "", func(string) bool { return false }); err == nil {
						err = take(v)
					}
				} else {
					err = skip(d)
				}
				if err != nil {
					return err
				}
			}
			if len(names) == 0 {
				seen++
			}
			_, err = d.Token()
			return err
		case t == json.Delim('{'):
			return members(d, func(key string) (bool, error) {
				if len(names) == 0 || key != names[0] {
					return false, nil
				}
				return true, walk(names[1:])
			})
		}
		return nil
	}
	return damaged(d, walk(names))
}
