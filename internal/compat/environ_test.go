package compat

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	assigns, told, ignored, err := Environment([]string{
		"HOME=/root", "AIPERF_HTTP_SSL_VERIFY=False", "AIPERF_HTTP_TRUST_ENV=1", "AIPERF_HTTP_FORCE_CLOSE=0",
		"AIPERF_HTTP_CONNECTION_LIMIT=2500", "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT=10.0", "AIPERF_ZMQ_RCVTIMEO=5",
		"AIPERF_ACCURACY_LCB_RELEASE_TAG=v6", "AIPERF_UI_LOG_REFRESH_INTERVAL=1", "AIPERF_HTTP_SO_RCVBUF=4096",
		"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID=true", `AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS=["http://a:1/metrics"]`,
	})
	var set []string
	for _, a := range assigns {
		set = append(set, a.Origin.Where+" "+a.Path)
	}
	if err != nil || !slices.Equal(set, []string{
		"AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS benchmark.gpu_telemetry.urls",
		"AIPERF_HTTP_SSL_VERIFY benchmark.endpoint.insecure",
		"AIPERF_HTTP_TRUST_ENV benchmark.endpoint.proxy",
		"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID benchmark.endpoint.headers.X-Session-ID",
	}) ||
		!slices.Equal(ignored, []string{"AIPERF_UI_LOG_REFRESH_INTERVAL", "AIPERF_ZMQ_RCVTIMEO"}) ||
		len(told) != 1 || !strings.HasPrefix(told[0], "AIPERF_HTTP_SO_RCVBUF has no effect here: ") {
		t.Errorf("set %q, told %q, ignored %q, error %v", set, told, ignored, err)
	}
	for _, v := range variables {
		said := slices.DeleteFunc([]string{v.Path, v.Read, v.Why, v.Told}, func(s string) bool { return s == "" })
		if len(said) != 1 {
			t.Errorf("%s: one of path, read, why and told, got %q", v.Name, said)
		}
	}
}

// other is a value of k that AIPerf takes, and that is not its default.
func (k knob) other() string {
	switch {
	case k.def == "True":
		return "false"
	case k.def == "False":
		return "true"
	case strings.HasPrefix(k.def, "["):
		return `["other"]`
	case strings.HasPrefix(k.def, "{"):
		return `{"tight": 3}`
	case !k.isNumber():
		return "other"
	}
	for _, v := range []string{"3", "2", "17", "5000", "40000", "0.5", "0.25", "60", "11"} {
		if k.wrong(v) == "" && !k.asksNothing(v) {
			return v
		}
	}
	return ""
}

// Every setting of AIPerf's environment: its default asks for nothing, another value is
// honoured, refused in one line, or named as without effect; those that mean something here
// are never passed over, and a value out of bounds is refused.
func TestEverySettingOfAIPerf(t *testing.T) {
	t.Parallel()
	all, honoured, bounded := knobs(), 0, 0
	if len(all) != 239 {
		t.Fatalf("%d settings", len(all))
	}
	for _, k := range all {
		row := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == k.name })
		if k.use == "honour" {
			if honoured++; row < 0 {
				t.Errorf("%s means something here and has no row", k.name)
			}
		}
		unquoted := strings.Trim(strings.ReplaceAll(k.def, "'", `"`), `"`)
		if unquoted != "None" {
			assigns, told, ignored, err := Environment([]string{k.name + "=" + unquoted})
			if err != nil || len(assigns)+len(told) > 0 || row >= 0 && len(ignored) > 0 {
				t.Errorf("%s=%s: sets %v, told %q, error %v, though it is the default", k.name, unquoted, assigns, told, err)
			}
		}
		v := k.other()
		if v == "" {
			t.Errorf("%s: no other value is tried", k.name)
			continue
		}
		assigns, told, ignored, err := Environment([]string{k.name + "=" + v})
		got := ""
		switch {
		case err != nil && strings.HasPrefix(err.Error(), k.name+": not supported here") && !strings.Contains(err.Error(), "\n"):
			got = "why"
		case err != nil:
			got = err.Error()
		case len(assigns) == 1 && len(told)+len(ignored) == 0:
			got = "path"
		case len(told) == 1 && len(assigns)+len(ignored) == 0:
			got = "told"
		case slices.Equal(ignored, []string{k.name}):
			got = "ignored"
		case len(assigns)+len(told)+len(ignored) == 0:
			got = "read"
		}
		want := "ignored"
		if row >= 0 {
			r := variables[row]
			want = map[bool]string{r.Path != "": "path", r.Read != "": "read", r.Why != "": "why", r.Told != "": "told"}[true]
		}
		if got != want {
			t.Errorf("%s=%s: %s, want %s", k.name, v, got, want)
		}
		if k.bounds != "" {
			bounded++
			_, _, _, err := Environment([]string{k.name + "=-1"})
			if err == nil || !strings.Contains(err.Error(), k.name+": must be a") {
				t.Errorf("%s=-1, bounds %s: %v", k.name, k.bounds, err)
			}
			if _, _, _, err := Environment([]string{k.name + "=many"}); err == nil || !strings.Contains(err.Error(), "number") {
				t.Errorf("%s=many: %v", k.name, err)
			}
		}
	}
	if honoured != 68 || bounded < 150 {
		t.Errorf("%d mean something, %d have bounds", honoured, bounded)
	}
}
