//go:build !nvml || !linux

package telemetry

// OpenNVML has nothing to open in this build: the error says how to get one that has.
func OpenNVML() (*Local, error) { return nil, &NotPrometheusError{NoNVML} }
