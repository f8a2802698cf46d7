package compat

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	assigns, ignored, err := Environment([]string{
		"HOME=/root", "AIPERF_HTTP_SSL_VERIFY=False", "AIPERF_HTTP_TRUST_ENV=1", "AIPERF_HTTP_FORCE_CLOSE=0",
		"AIPERF_HTTP_CONNECTION_LIMIT=2500", "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT=10.0", "AIPERF_ZMQ_RCVTIMEO=5", "AIPERF_ACCURACY_LCB_RELEASE_TAG=v6", "AIPERF_UI_LOG_REFRESH_INTERVAL=1",
	})
	var set []string
	for _, a := range assigns {
		set = append(set, a.Origin.Where+" "+a.Path)
	}
	if err != nil || !slices.Equal(set, []string{
		"AIPERF_HTTP_SSL_VERIFY benchmark.endpoint.insecure",
		"AIPERF_HTTP_TRUST_ENV benchmark.endpoint.proxy",
	}) ||
		!slices.Equal(ignored, []string{"AIPERF_UI_LOG_REFRESH_INTERVAL", "AIPERF_ZMQ_RCVTIMEO"}) {
		t.Errorf("set %q, ignored %q, error %v", set, ignored, err)
	}
	for _, v := range variables {
		said := slices.DeleteFunc([]string{v.Path, v.Read, v.Why}, func(s string) bool { return s == "" })
		if len(said) != 1 {
			t.Errorf("%s: one of path, read and why, got %q", v.Name, said)
		}
		_, _, err := Environment([]string{v.Name + "=12345"})
		if v.Why != "" && (err == nil || !strings.Contains(err.Error(), v.Name)) {
			t.Errorf("%s=12345: %v", v.Name, err)
		}
		if _, _, err := Environment([]string{v.Name + "=" + v.Default}); err != nil {
			t.Errorf("%s=%s: %v, though it is the default", v.Name, v.Default, err)
		}
	}
}
