package flags

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// absentOptions are the absent flags as the command line sees them.
func absentOptions() (out []Option) {
	for _, row := range fields.Absents() {
		for _, f := range row.Flags {
			o := Option{
				Names: f.Names, Neg: f.Neg, Kind: f.Kind, Default: f.Default, Many: f.Many, Words: f.Words,
				Bare: f.Alone, Split: f.Split, Do: f.Do, aside: f.Path, with: f.With,
				Doc: upperFirst(row.What) + ".", Group: "Not here", Unsupported: true, Instead: row.Instead,
			}
			if o.Kind == "" {
				o.Kind = "string"
			}
			out = append(out, o)
		}
	}
	return out
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// absentFlag is what an absent flag asks for: nothing where its words say what
// is so anyway.
func (o Option) absentFlag(at source.Origin, words []string) ([]lower.Assignment, error) {
	said := strings.Join(words, ",")
	off := o.Kind == "bool" && (len(words) == 1 && fields.Coerce(words[0], true) == false || o.off)
	if off || o.Default != "" && suggest.Fold(said) == suggest.Fold(o.Default) {
		return nil, nil
	}
	var out []lower.Assignment
	var err error
	switch o.Path = o.aside; {
	case o.Do != "":
		out, err = o.act(at, words)
	case o.Path != "":
		out, err = o.assign(at, words)
	}
	if err != nil {
		return nil, err
	}
	for path, v := range o.with {
		weak := lower.Assign(path, v, at)
		weak.Weak = true
		out = append(out, weak)
	}
	if len(out) == 0 {
		out = []lower.Assignment{{Origin: at}}
	}
	for i := range out {
		out[i].Absent = o.Instead
	}
	return out, nil
}

// Flags of absent things that mean more than "set a path".

// networkMean sets a round trip that is known, which asks for the metrics without it.
func networkMean(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	out, err := plainFlag(o, at, words)
	weak := lower.Assign("benchmark.network_latency.enabled", true,
		source.Because(source.Follows, at.Where+" is given"))
	weak.Weak = true
	return append(out, weak), err
}

// gpuTelemetry reads what AIPerf's flag mixes: dashboard, a collector, a file
// of metrics, addresses.
func gpuTelemetry(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	const section = "benchmark.gpu_telemetry."
	var out []lower.Assignment
	var urls []any
	local := ""
	if len(words) > 0 {
		out = append(set(at, section+"collector", "dcgm"), set(at, section+"mode", "summary")...)
	}
	for _, w := range splitWords(words, ",") {
		switch {
		case w == "dashboard":
			out = append(out, set(at, section+"mode", "realtime_dashboard")...)
		case slices.Contains([]string{"pynvml", "dcgm", "amdsmi"}, w):
			out = append(out, set(at, section+"collector", w)...)
			if w != "dcgm" {
				local = w
			}
		case strings.HasSuffix(w, ".csv"):
			if _, err := os.Stat(w); err != nil {
				return nil, diag.New(w+": "+source.Reason(err), "")
			}
			out = append(out, set(at, section+"metrics_file", w)...)
		case strings.Contains(w, ":"):
			urls = append(urls, withScheme(w))
		default:
			known := []string{"dashboard", "dcgm", "pynvml", "amdsmi"}
			return nil, diag.New(fmt.Sprintf("%q is not one of %s, nor a .csv file or an address", source.Short(w),
				strings.Join(known, ", ")), suggest.DidYouMean(w, known))
		}
	}
	switch {
	case len(words) == 0:
		return set(at, section+"enabled", true), nil
	case local != "" && len(urls) > 0:
		return nil, diag.New(fmt.Sprintf("%s reads this machine: %v cannot be combined with it", local, urls[0]),
			"keep one of them")
	case len(urls) > 0:
		out = append(out, set(at, o.Path, urls)...)
	}
	return out, nil
}

// withScheme gives the address of a page of metrics its scheme.
func withScheme(s string) string {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	return s
}

// collectorURL gives the address of a collector its scheme and, where none is
// said, the path that OTLP metrics go to.
func collectorURL(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	s := strings.TrimSuffix(withScheme(w), "/")
	if _, rest, _ := strings.Cut(s, "://"); !strings.Contains(rest, "/") {
		s += "/v1/metrics"
	}
	return set(at, o.Path, s), err
}

// streamed names what goes to the collector; what is not named does not.
// default is both.
func streamed(_ Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	kinds := []string{"metrics", "timing"}
	said := splitWords(words, ",")
	if len(said) == 0 || slices.Contains(said, "default") {
		said = kinds
	}
	var out []lower.Assignment
	for _, k := range said {
		if !slices.Contains(kinds, k) {
			words := append([]string{"default"}, kinds...)
			return nil, diag.New(fmt.Sprintf("%q is not one of %s", source.Short(k), strings.Join(words, ", ")),
				suggest.DidYouMean(k, words))
		}
	}
	for _, k := range kinds {
		out = append(out, set(at, "benchmark.otel.stream_"+k+"_enabled", slices.Contains(said, k))...)
	}
	return out, nil
}
