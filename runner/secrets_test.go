package runner

import (
	"encoding/base64"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep/sweeptest"
)

func TestSecretsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	const key, token, password = "sk-a/b+c d", "tok-12345", "hunter22"
	plan := sweeptest.PlanOf(t, "endpoint.api_key="+key,
		"endpoint.headers={X-Auth-Token: "+token+", User-Agent: visible}",
		"endpoint.urls=['http://me:"+password+"@127.0.0.1:1']")
	opt := masked(Options{
		CommandLine: "aiperf run --api-key " + key + " -H X-Auth-Token:" + token,
		Source: []byte("api_key: " + key + "\nurl: http://me:" + password + "@127.0.0.1:1\n# " +
			base64.StdEncoding.EncodeToString([]byte(key))),
		Origins: []string{"benchmark.endpoint.api_key sk-a%2Fb%2Bc+d --api-key", "User-Agent visible"},
	}, plan.Hide())
	all := opt.CommandLine + string(opt.Source) + strings.Join(opt.Origins, "\n") + string(plan.Cells[0].Resolved.JSON)
	for _, word := range []string{
		key, token, password, "sk-a%2Fb%2Bc+d",
		base64.StdEncoding.EncodeToString([]byte(key)),
	} {
		if strings.Contains(all, word) {
			t.Errorf("%q is still there:\n%s", word, all)
		}
	}
	if !strings.Contains(all, "visible") {
		t.Error("a header that is no credential was masked")
	}
}
