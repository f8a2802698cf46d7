package telemetry_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/telemetry"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page  string
		n     int
		known bool
	}{
		{"# TYPE up gauge\nup 1\n", 0, false},
		{
			"# TYPE dynamo_frontend_model_workers gauge\n" +
				"dynamo_frontend_model_workers{model=\"m\"} 5\ndynamo_frontend_model_workers{model=\"other\"} 3\n", 5, true,
		},
		{"# TYPE dynamo_frontend_model_workers gauge\ndynamo_frontend_model_workers{model=\"other\"} 3\n", 0, true},
		{"# TYPE router_worker_registered gauge\nrouter_worker_registered{w=\"a\"} 1\nrouter_worker_registered{w=\"b\"} 1\n", 2, true},
		{"# TYPE dynamo_frontend_model_workers gauge\ndynamo_frontend_model_workers{model=\"m\"} NaN\n", 0, true},
	} {
		page, err := telemetry.Parse([]byte(c.page))
		if err != nil {
			t.Fatal(err)
		}
		if n, known := telemetry.Workers(page, "m"); n != c.n || known != c.known {
			t.Errorf("%s: %d, %v; want %d, %v", c.page, n, known, c.n, c.known)
		}
	}
}
