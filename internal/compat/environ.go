package compat

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// Variable is an environment variable of AIPerf's that could change results.
// Exactly one of Path, Read and Why is set.
type Variable struct {
	Name    string
	Default string // what AIPerf does without it: saying it again asks for nothing
	Path    string // honoured: where it goes when it is not the default
	to      any
	Read    string // honoured where it is read: what it says
	Why     string // refused: what to write instead
}

// variables are those that change what is sent, measured or counted. All other
// AIPERF_ names tune services, queues and screens that are not here.
var variables = []Variable{
	{Name: "AIPERF_HTTP_SSL_VERIFY", Default: "true", Path: "benchmark.endpoint.insecure", to: true},
	{Name: "AIPERF_HTTP_TRUST_ENV", Default: "false", Path: "benchmark.endpoint.proxy", to: "env"},
	{Name: "AIPERF_HTTP_FORCE_CLOSE", Default: "false", Path: "benchmark.endpoint.connection_reuse", to: "never"},
	{
		Name: "AIPERF_ACCURACY_LCB_RELEASE_TAG", Default: "v4_v5",
		Read: "the release of lcb_codegeneration whose questions are asked",
	},
	{
		Name: "AIPERF_ACCURACY_LCB_GRADE_TIMEOUT_MAX_S", Default: "300",
		Read: "seconds that all tests of one answer's code may take, where 7 for each test and 5 are more",
	},

	{
		Name: "AIPERF_HTTP_CONNECTION_LIMIT", Default: "2500",
		Why: "connections are not limited; phases.in_flight caps the requests on the wire",
	},
	{Name: "AIPERF_HTTP_IP_VERSION", Default: "4", Why: "name the address in --url"},
	{
		Name: "AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID", Default: "false",
		Why: "X-Correlation-ID is sent; other session headers are not",
	},
	{
		Name: "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", Default: "false",
		Why: "X-Correlation-ID is sent; other session headers are not",
	},
	{
		Name: "AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID", Default: "false",
		Why: "X-Correlation-ID is sent; other session headers are not",
	},
	{
		Name: "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID", Default: "false",
		Why: "X-Correlation-ID is sent; other session headers are not",
	},
	{Name: "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", Default: "false", Why: "a text alone is sent as a string"},
	{Name: "AIPERF_INJECTED_HEADERS", Why: "--header NAME:VALUE sends a header"},
	{
		Name: "AIPERF_TIMING_MAX_CATCHUP_SECONDS", Default: "0.01",
		Why: "a late client always catches up; phases.on_cap: skip drops arrivals that find no slot",
	},
	{Name: "AIPERF_TIMING_RATE_RAMP_UPDATE_INTERVAL", Default: "0.1", Why: "a rate grows every 0.1 s"},
	{
		Name: "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT", Default: "10",
		Why: "what is cancelled ends at once; phases.grace_period says how long to wait before",
	},
	{
		Name: "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD", Default: "5",
		Why: "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths",
	},
	{
		Name: "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD", Default: "50",
		Why: "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths",
	},
	{
		Name: "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", Default: "10",
		Why: "counts are flagged beyond 10 %; the requests table has both counts",
	},
	{Name: "AIPERF_METRICS_LIST_BACKEND", Default: "ragged", Why: "every value is kept, so percentiles are exact"},
	{Name: "AIPERF_METRICS_TDIGEST_COMPRESSION", Default: "500", Why: "every value is kept, so percentiles are exact"},
	{
		Name: "AIPERF_DATASET_PREFORMAT_PAYLOADS", Default: "false",
		Why: "bodies are made ahead anyway, and input lengths are kept",
	},
	{
		Name: "AIPERF_RECORD_STRIP_PAYLOAD_BYTES", Default: "",
		Why: "bodies are not kept in memory; input lengths always are",
	},
	{Name: "AIPERF_DAG_FAIL_FAST", Default: "false", Why: "--failed-request-threshold stops a run that fails"},
}

// Variables are the rows, for the documentation.
func Variables() []Variable { return slices.Clone(variables) }

// Environment sorts the AIPERF_ names of an environment of NAME=VALUE.
func Environment(environ []string) (assigns []schema.Assignment, ignored []string, err error) {
	environ = slices.Sorted(slices.Values(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "AIPERF_") {
			continue
		}
		i := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == name })
		switch {
		case i < 0:
			ignored = append(ignored, name)
		case variables[i].asksNothing(value), variables[i].Read != "":
		case variables[i].Path == "":
			return nil, nil, diag.New(name+": not supported here", "unset it: "+variables[i].Why)
		default:
			v := variables[i]
			assigns = append(assigns, schema.Assign(v.Path, v.to, schema.Origin{Source: schema.ByEnv, Where: name}))
		}
	}
	return assigns, ignored, nil
}

// asksNothing reports whether value is what AIPerf does anyway.
func (v Variable) asksNothing(value string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.TrimSpace(s))
		switch s {
		case "1", "yes", "on":
			return "true"
		case "0", "no", "off":
			return "false"
		}
		return strings.TrimSuffix(s, ".0")
	}
	return plain(value) == "" || plain(value) == plain(v.Default)
}
