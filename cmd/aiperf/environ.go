package main

import (
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// envVar is an environment variable of AIPerf's that could change results.
// Exactly one of path and why is set.
type envVar struct {
	name string
	def  string // what AIPerf does without it: saying it again asks for nothing
	path string // honoured: where it goes when it is not the default
	to   any
	why  string // refused: what to write instead
}

// envVars are those that change what is sent, measured or counted. All other
// AIPERF_ names tune services, queues and screens that are not here.
var envVars = []envVar{
	{name: "AIPERF_HTTP_SSL_VERIFY", def: "true", path: "benchmark.endpoint.insecure", to: true},
	{name: "AIPERF_HTTP_TRUST_ENV", def: "false", path: "benchmark.endpoint.proxy", to: "env"},
	{name: "AIPERF_HTTP_FORCE_CLOSE", def: "false", path: "benchmark.endpoint.connection_reuse", to: "never"},

	{name: "AIPERF_HTTP_CONNECTION_LIMIT", def: "2500", why: "there is no limit on connections; phases.in_flight caps the requests on the wire"},
	{name: "AIPERF_HTTP_IP_VERSION", def: "4", why: "name the address in --url"},
	{name: "AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID", def: "false", why: "X-Correlation-ID is sent; other session headers are not"},
	{name: "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", def: "false", why: "X-Correlation-ID is sent; other session headers are not"},
	{name: "AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID", def: "false", why: "X-Correlation-ID is sent; other session headers are not"},
	{name: "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID", def: "false", why: "X-Correlation-ID is sent; other session headers are not"},
	{name: "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", def: "false", why: "a text alone is sent as a string"},
	{name: "AIPERF_INJECTED_HEADERS", why: "--header NAME:VALUE sends a header"},
	{name: "AIPERF_TIMING_MAX_CATCHUP_SECONDS", def: "0.01", why: "a late client always catches up; phases.on_cap: skip drops arrivals that find no slot"},
	{name: "AIPERF_TIMING_RATE_RAMP_UPDATE_INTERVAL", def: "0.1", why: "a rate grows every 0.1 s"},
	{name: "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT", def: "10", why: "what is cancelled ends at once; phases.grace_period says how long to wait before"},
	{name: "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD", def: "5", why: "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths"},
	{name: "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD", def: "50", why: "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths"},
	{name: "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", def: "10", why: "counts are flagged beyond 10 %; the requests table has both counts"},
	{name: "AIPERF_METRICS_LIST_BACKEND", def: "ragged", why: "every value is kept, so percentiles are exact"},
	{name: "AIPERF_METRICS_TDIGEST_COMPRESSION", def: "500", why: "every value is kept, so percentiles are exact"},
	{name: "AIPERF_DATASET_PREFORMAT_PAYLOADS", def: "false", why: "bodies are made ahead anyway, and input lengths are kept"},
	{name: "AIPERF_RECORD_STRIP_PAYLOAD_BYTES", def: "", why: "bodies are not kept in memory; input lengths always are"},
	{name: "AIPERF_DAG_FAIL_FAST", def: "false", why: "--failed-request-threshold stops a run that fails"},
}

// environment applies AIPerf's variables: those that are honoured go below the
// flags, those that are not and change results are refused, all others are
// named in one warning.
func (a *app) environment(p *parsed) error {
	assigns, ignored, err := readEnvironment(os.Environ())
	if err != nil {
		return err
	}
	p.assigns = append(assigns, p.assigns...)
	switch len(ignored) {
	case 0:
	case 1:
		a.warn(ignored[0] + " has no effect here")
	default:
		a.warn(strings.Join(ignored, ", ") + " have no effect here")
	}
	return nil
}

// readEnvironment sorts the AIPERF_ names of an environment of NAME=VALUE.
func readEnvironment(environ []string) (assigns []schema.Assignment, ignored []string, err error) {
	environ = slices.Sorted(slices.Values(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "AIPERF_") {
			continue
		}
		i := slices.IndexFunc(envVars, func(v envVar) bool { return v.name == name })
		switch {
		case i < 0:
			ignored = append(ignored, name)
		case envVars[i].asksNothing(value):
		case envVars[i].path == "":
			return nil, nil, &usageError{name + ": not supported here", "unset it: " + envVars[i].why}
		default:
			v := envVars[i]
			assigns = append(assigns, schema.Assignment{Path: v.path, Value: v.to, Origin: schema.Origin{Source: "env", Where: name}})
		}
	}
	return assigns, ignored, nil
}

// asksNothing tells whether value is what AIPerf does anyway.
func (v envVar) asksNothing(value string) bool {
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
	return plain(value) == "" || plain(value) == plain(v.def)
}
