package fields

import (
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

// Version is one version of the schema, as schemaVersion names it.
type Version struct {
	Name    string
	Doc     string
	Changes []Change // since the version before
}

// Change is what a version does to one field.
type Change struct {
	Path string // of the field, as messages name it; * is every member of a list
	Kind ChangeKind
	Doc  string // what an added field is for; what to say in place of a removed one
	To   string // of a renamed field: its new last word, in the same object
}

// ChangeKind says what happened to a field.
type ChangeKind int

const (
	Added   ChangeKind = iota + 1 // files of older versions do not have it, and may
	Renamed                       // files of older versions are read with the new name
	Removed                       // files of older versions say it in vain, and are told
)

func (k ChangeKind) String() string { return [...]string{"", "added", "renamed", "removed"}[k] }

// versions are all there are, the newest last: source.SchemaVersion.
var versions = []Version{
	{Name: "2.0", Doc: "The shape of AIPerf's configuration files."},
	{Name: "2.1", Doc: "What AIPerf's files do not have.", Changes: []Change{
		{Path: "allow_invalid", Kind: Added, Doc: "exit 0 although the verdict is INVALID"},
		{Path: "budget", Kind: Added, Doc: "limits after which no further run is started"},
		{Path: "compare", Kind: Added, Doc: "which values of one axis are better, worse, or the same"},
		{Path: "gates", Kind: Added, Doc: "conditions that every cell must meet"},
		{Path: "gates_undecided", Kind: Added, Doc: "what decides a gate that the interval leaves open"},
		{Path: "multi_run.sentinel", Kind: Added, Doc: "a cell that is measured again to see drift"},
		{Path: "objectives", Kind: Added, Doc: "what cells are ranked by"},
		{Path: "rules", Kind: Added, Doc: "rules of others that the result is held against"},
		{Path: "search", Kind: Added, Doc: "the largest load within limits, as a bracket"},
		{Path: "tables", Kind: Added, Doc: "which tables are written, and in which formats"},
		{Path: "verdict", Kind: Added, Doc: "limits of the checks behind the verdict"},
		{Path: "benchmark.accuracy.items", Kind: Added, Doc: "how many of a benchmark's questions are asked"},
		{Path: "benchmark.accuracy.mode", Kind: Added, Doc: "whether questions are the load or some of its requests"},
		{Path: "benchmark.accuracy.path", Kind: Added, Doc: "where the questions lie"},
		{Path: "benchmark.accuracy.plugin", Kind: Added, Doc: "the program that judges answers"},
		{Path: "benchmark.accuracy.share", Kind: Added, Doc: "which share of the requests are questions"},
		{Path: "benchmark.artifacts.aiperf", Kind: Added, Doc: "whether AIPerf's files are written"},
		{Path: "benchmark.artifacts.exporters", Kind: Added, Doc: "programs that are given the finished results"},
		{Path: "benchmark.artifacts.metrics", Kind: Added, Doc: "programs that make metrics of all requests of a run"},
		{Path: "benchmark.datasets.*.columns", Kind: Added, Doc: "our names for the columns of a table"},
		{Path: "benchmark.datasets.*.plugin", Kind: Added, Doc: "the program that writes the conversations"},
		{Path: "benchmark.datasets.*.folder", Kind: Added, Doc: "where a copy of a published set lies"},
		{
			Path: "benchmark.datasets.*.media_roots", Kind: Added,
			Doc: "more folders that images, sounds and videos may come from",
		},
		{
			Path: "benchmark.datasets.*.prefix_prompts.block_size", Kind: Added,
			Doc: "tokens in a block of the server's prefix cache",
		},
		{
			Path: "benchmark.datasets.*.prefix_prompts.hit_rate", Kind: Added,
			Doc: "share of the prompts' tokens that a server knows already",
		},
		{Path: "benchmark.datasets.*.prompts.corpus_file", Kind: Added, Doc: "the text that prompts are cut from"},
		{Path: "benchmark.endpoint.ca_file", Kind: Added, Doc: "authorities to trust besides the system's"},
		{Path: "benchmark.endpoint.client_cert", Kind: Added, Doc: "certificate of the client"},
		{Path: "benchmark.endpoint.client_key", Kind: Added, Doc: "its key"},
		{
			Path: "benchmark.endpoint.flip", Kind: Added,
			Doc: "how one server is brought into the state that is measured",
		},
		{Path: "benchmark.endpoint.http", Kind: Added, Doc: "version of HTTP"},
		{Path: "benchmark.endpoint.insecure", Kind: Added, Doc: "any certificate of a server is accepted"},
		{Path: "benchmark.endpoint.label", Kind: Added, Doc: "its name where several are compared"},
		{Path: "benchmark.endpoint.proxy", Kind: Added, Doc: "where the proxy is taken from"},
		{Path: "benchmark.endpoint.plugin", Kind: Added, Doc: "the program that speaks the API"},
		{Path: "benchmark.endpoint.rpc", Kind: Added, Doc: "a method of gRPC and where it has what"},
		{Path: "benchmark.endpoint.source_addresses", Kind: Added, Doc: "local addresses to connect from"},
		{Path: "benchmark.endpoint.stall_timeout", Kind: Added, Doc: "how long a run goes on without a sign of life"},
		{
			Path: "benchmark.endpoint.unreachable_timeout", Kind: Added,
			Doc: "how long a run goes on without any connection",
		},
		{Path: "benchmark.endpoint.wait_for_workers", Kind: Added, Doc: "workers behind a router that are waited for"},
		{Path: "benchmark.otel.semconv", Kind: Added, Doc: "version of the conventions that metrics are sent by"},
		{Path: "benchmark.runtime.serve_metrics", Kind: Added, Doc: "where progress is a page of metrics"},
		{Path: "benchmark.server", Kind: Added, Doc: "calls and commands around runs"},
		{Path: "benchmark.aiperf_semantics", Kind: Added, Doc: "which AIPerf's semantics an agentic replay has"},
		{Path: "benchmark.failure_policy", Kind: Added, Doc: "what happens to the rest of the plan after a failed run"},
		{Path: "benchmark.on_worker_loss", Kind: Added, Doc: "what happens to a run when one of its workers is lost"},
		{Path: "benchmark.phases.*.in_flight", Kind: Added, Doc: "requests on the wire at the same time"},
		{
			Path: "benchmark.phases.*.on_cap", Kind: Added,
			Doc: "what an arrival does when the concurrency limit is reached",
		},
		{
			Path: "benchmark.phases.*.stability", Kind: Added,
			Doc: "windows of the load by which a phase ends",
		},
		{
			Path: "benchmark.phases.*.on_count", Kind: Added,
			Doc: "what a conversation does when the request count is reached",
		},
	}},
}

// At tells whether the change is that of the field at path, or of one above it.
// Paths are canonical; a bare name that once stood for a field of the profiling
// phase is one, too.
func (c Change) At(path string) bool {
	if parent, name := source.Cut(c.Path); parent == "benchmark.phases.*" && path == "benchmark."+name &&
		slices.Contains(PhaseAliases, c.To) {
		return true
	}
	own, parts := strings.Split(c.Path, "."), strings.Split(path, ".")
	return len(own) <= len(parts) && matches(own, parts[:len(own)])
}

// Below is what remains of the change's path below path, which is canonical.
func (c Change) Below(path string) (rest []string, ok bool) {
	own, parts := strings.Split(c.Path, "."), strings.Split(path, ".")
	if len(parts) >= len(own) || !matches(own[:len(parts)], parts) {
		return nil, false
	}
	return own[len(parts):], true
}

func matches(starred, parts []string) bool {
	return slices.EqualFunc(starred, parts, func(s, p string) bool { return s == p || s == "*" })
}

// gone says what became of a field that an older version had, "" of any other.
func gone(versions []Version, path string) string {
	for _, v := range slices.Backward(versions) {
		for _, c := range v.Changes {
			switch {
			case !c.At(path):
			case c.Kind == Renamed:
				return "is called " + c.To + " since version " + v.Name
			case c.Kind == Removed:
				return "removed in version " + v.Name + ": " + c.Doc
			}
		}
	}
	return ""
}

// Versions are the versions of the schema, the newest last.
func Versions() []Version { return versions }

// NewerVersion tells whether version a comes after b: 2.10 after 2.9. What is no
// version comes after none.
func NewerVersion(a, b string) bool {
	x, ok := versionNumbers(a)
	y, _ := versionNumbers(b)
	return ok && (x[0] > y[0] || x[0] == y[0] && x[1] > y[1])
}

// versionNumbers reads 2.1; 2.1.0 and v2.1.0, as modules write it, are the same.
func versionNumbers(s string) (n [2]int, ok bool) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) < 2 || len(parts) > 3 {
		return n, false
	}
	for i, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil || v < 0 {
			return n, false
		}
		if i < len(n) {
			n[i] = v
		}
	}
	return n, true
}
