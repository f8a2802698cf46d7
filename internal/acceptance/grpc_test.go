package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Triton's protocol against another gRPC library and NVIDIA's own messages: one
// answer, a decoupled stream, a model that is not there, and the same method by
// reflection. What the server saw is in its log.
func TestGRPCAgainstAnotherLibrary(t *testing.T) {
	t.Parallel()
	py := python(t, "grpc")
	script := filepath.Join(repository(t), "internal", "acceptance", "testdata", "triton.py")
	server := serve(t, py, "python", script, "reflection")
	url := strings.Replace(server.url, "http:", "grpc:", 1)
	measured := func(args ...string) []map[string]string {
		dir := filepath.Join(t.TempDir(), "out")
		measure(t, append(args, "-u", url, "--tokenizer", "builtin", "--artifact-dir", dir,
			"--request-count", "6", "--concurrency", "2",
			"--isl", "6", "--osl", "5", "-H", "Team: blue")...)
		return table(t, dir, "requests")
	}
	profile := func(model string, args ...string) []map[string]string {
		return measured(append([]string{"profile", "-m", model, "--endpoint-type", "kserve_v2_infer"}, args...)...)
	}
	check := func(rows []map[string]string, want map[string]string) {
		t.Helper()
		if len(rows) != 6 {
			t.Errorf("%d requests, want 6", len(rows))
		}
		for _, row := range rows {
			for column, v := range want {
				if got := row[column]; got != v && (v != "*" || got == "") {
					t.Errorf("%s = %q, want %s", column, got, v)
				}
			}
		}
	}
	check(profile("demo"), map[string]string{"status": "ok", "http_status": "200", "ttft_ms": "", "osl": "*"})
	check(profile("demo", "--streaming"), map[string]string{
		"status": "ok", "ttft_ms": "*", "osl": "*",
		"finish_reason": "final",
	})
	// Every second request names a model that is not there.
	half := func(rows []map[string]string) (absent []map[string]string) {
		for _, row := range rows {
			if row["model"] == "absent" {
				absent = append(absent, row, row)
			}
		}
		return absent
	}
	check(half(profile("demo,absent", "--streaming")), map[string]string{
		"status":     "parse_error",
		"error_kind": "server_error", "error_message": "unknown model 'absent'",
	})
	check(half(profile("demo,absent")), map[string]string{
		"status": "http_error", "http_status": "404", "error_kind": "grpc_notfound", "error_message": "Request for unknown model: 'absent' is not found",
	})
	file := filepath.Join(t.TempDir(), "grpc.yaml")
	if err := os.WriteFile(file, []byte(reflected), 0o600); err != nil {
		t.Fatal(err)
	}
	check(measured("run", file), map[string]string{"status": "ok", "ttft_ms": "*", "finish_reason": "done", "osl": "*"})
	server.stop()
	log := server.log.String()
	for line, n := range map[string]int{
		`ModelInfer demo tokens=5 id=True team=blue deadline=True`:         9,
		`ModelStreamInfer demo tokens=5 id=True team=blue deadline=True`:   9,
		`ModelStreamInfer absent tokens=5 id=True team=blue deadline=True`: 3,
		`ModelStreamInfer demo tokens=0 id=True team=blue deadline=True`:   6,
	} {
		if got := len(regexp.MustCompile(`(?m)^`+line+`$`).FindAllString(log, -1)); got != n {
			t.Errorf("the server logged %q %d times, want %d\n%s", line, got, n, log)
		}
	}
}

// reflected is an experiment that knows Triton's stream by reflection alone.
const reflected = `
model: demo
endpoint:
  type: grpc
  streaming: true
  rpc:
    method: inference.GRPCInferenceService/ModelStreamInfer
    body: >
      {"model_name": {{ model|tojson }},
       "inputs": [{"name": "text_input", "datatype": "BYTES", "shape": [1], "contents": {"bytes_contents": ["YSBiIGM="]}}]}
    text: infer_response.outputs[0].name
    done: infer_response.parameters.triton_final_response.bool_param
`
