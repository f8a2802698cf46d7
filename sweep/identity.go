package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"aiperf.dev/aiperf/schema"
)

// idDigits is the length of a cell's identity: 48 bits, so that among 10,000
// cells two different ones share an identity with a chance of 2·10⁻⁷, and then
// the plan is refused, not mixed up.
const idDigits = 12

// bystanders are the blocks of a body that change nothing that is sent and
// nothing that is counted: what is kept, shown, logged and watched. A plan that
// differs in them only is the same plan, and may be resumed.
var bystanders = [...]string{
	"artifacts", "runtime", "logging", "gpu_telemetry", "server_metrics",
	"network_latency", "otel", "mlflow", "wandb",
}

// canonical is a resolved body as it decides about identity: keys sorted, numbers in one
// spelling but those of extra inputs, which are sent as they are spelled, without what does
// not change the measurement (the bystanders, the endpoint's label, how long it or its flip
// is waited for) and without secrets, masked or not.
func canonical(resolved []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(resolved))
	d.UseNumber()
	var body map[string]any
	if err := d.Decode(&body); err != nil {
		return nil, fmt.Errorf("resolved body: %w", err)
	}
	if e, ok := body["endpoint"].(map[string]any); ok {
		delete(e, "label")
		delete(e, "api_key")
		delete(e, "unreachable_timeout")
		if f, ok := e["flip"].(map[string]any); ok {
			delete(f, "timeout")
		}
		// When a run begins is no part of what it measures. The names stay, as if
		// nobody had said them: identities are as old as the plans that are resumed.
		for name, usual := range waits() {
			if e[name] != nil {
				e[name] = usual
			}
		}
	}
	for _, name := range bystanders {
		delete(body, name)
	}
	e, _ := body["endpoint"].(map[string]any)
	extra := e["extra"]
	delete(e, "extra")
	oneSpelling(body)
	if extra != nil {
		e["extra"] = extra
	}
	return json.Marshal(body)
}

// waits are the settings of an endpoint that say how long it is waited for, with
// what they are without being said, as a body has it.
var waits = sync.OnceValue(func() map[string]any {
	out := map[string]any{}
	for _, o := range schema.Options() {
		name, ours := strings.CutPrefix(o.Path, "benchmark.endpoint.")
		switch {
		case !ours || !strings.HasPrefix(name, "wait_for_model_"):
		case o.Kind == "number":
			out[name] = json.Number(o.Default)
		default:
			out[name] = o.Default
		}
	}
	return out
})

// oneSpelling writes 16, 16.0 and 1.6e1 alike.
func oneSpelling(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = oneSpelling(x)
		}
	case []any:
		for i, x := range v {
			v[i] = oneSpelling(x)
		}
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return v
		}
		f, err := v.Float64()
		switch {
		case err != nil:
			return v
		case f == math.Trunc(f) && math.Abs(f) < 1<<53:
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return f
	}
	return v
}

// hashOf is SHA-256 in hex.
func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
