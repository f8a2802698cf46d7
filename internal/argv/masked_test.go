package argv

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

func TestCommandLineHidesSecrets(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"-m demo --concurrency 4 --streaming":               "-m 'demo' --concurrency 4 --streaming",
		"--api-key sk-hidden":                               "--api-key '<redacted>'",
		"--api_key=sk-hidden":                               "--api_key='<redacted>'",
		"-H Authorization:hidden X-Team:hidden --isl 5":     "-H 'Authorization:<redacted>' 'X-Team:<redacted>' --isl 5",
		"--header=X-A:hidden":                               "--header='X-A:<redacted>'",
		"-u http://me:hidden@h/v1?api_key=hidden&b=1 h:80":  "-u 'http://<redacted>@h/v1?api_key=<redacted>&b=1' 'h:80'",
		"--set endpoint.api_key=hidden --set concurrency=4": "--set 'endpoint.api_key=<redacted>' --set 'concurrency=4'",
		"--extra-inputs access_token:hidden max_tokens:4":   "--extra-inputs 'access_token:<redacted>' 'max_tokens:4'",
		"--set slos.time_to_first_token=200":                "--set 'slos.time_to_first_token=200'",
		"--goodput time_to_first_token:200":                 "--goodput 'time_to_first_token:200'",
	} {
		got := Masked("profile", append([]string{"aiperf", "profile"}, strings.Fields(words)...), schema.Options())
		if want = "aiperf profile " + want; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", words, got, want)
		}
		if strings.Contains(got, "hidden") {
			t.Errorf("%s: a secret is shown", got)
		}
	}
}
