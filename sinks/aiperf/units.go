package aiperf

import (
	"regexp"
	"strings"
)

// What AIPerf takes the unit of a server's metric from, in its order: a range in the help
// text, a unit in it, and the end of the name, the longest first.
var (
	ratioRange = regexp.MustCompile(`(?i)\(0(?:\.0)?\s*(?:[-–—]+|to)\s*1(?:\.0)?\)|\b0(?:\.0)?\s*(?:[-–—]+|to)\s*1(?:\.0)?\b|\brange\s+0(?:\.0)?\s*(?:[-–—]+|to)\s*1(?:\.0)?\b|(?:\b|\()1(?:\.0)?\s*(?:means|is|equals?|==?)\s*100\s*(?:%|percent)`)
	percentage = regexp.MustCompile(`(?i)\(0(?:\.0)?\s*(?:[-–—]+|to)\s*100(?:\.0)?\)|\brange\s+0\s*(?:[-–—]+|to)\s*100\b|\b0\s*(?:[-–—]+|to)\s*100\s*%`)
	bracketed  = regexp.MustCompile(`\(in\s+([^\s)]+)\)`)
	spelled    = []struct {
		text *regexp.Regexp
		unit string
	}{
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()seconds?(?:\b|\))`), "seconds"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()(?:milliseconds?|ms)(?:\b|\))`), "milliseconds"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()(?:nanoseconds?|ns)(?:\b|\))`), "nanoseconds"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()bytes?(?:\b|\))`), "bytes"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()GB/s(?:\b|\))`), "gb/s"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()MB/s(?:\b|\))`), "mb/s"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()tokens?/s(?:ec(?:ond)?)?(?:\b|\))`), "tokens/s"},
		{regexp.MustCompile(`(?i)(?:\bin\s+|\()requests?/s(?:ec(?:ond)?)?(?:\b|\))`), "requests/s"},
		{regexp.MustCompile(`(?i)\bin\s+tokens?\b`), "tokens"},
	}
	abbreviated = map[string]string{
		"MiB": "megabytes", "GiB": "gigabytes", "KiB": "kilobytes", "B": "bytes", "MB": "megabytes",
		"GB": "gigabytes", "KB": "kilobytes", "TB": "terabytes",
		"C": "celsius", "°C": "celsius", "F": "fahrenheit", "°F": "fahrenheit", "K": "kelvin",
		"Hz": "hertz", "MHz": "megahertz", "GHz": "gigahertz",
		"W": "watt", "mW": "milliwatt", "J": "joule", "mJ": "millijoule", "MJ": "megajoule",
		"s": "seconds", "sec": "seconds", "ms": "milliseconds",
		"ns": "nanoseconds", "us": "microseconds", "µs": "microseconds", "GB/s": "gb/s", "MB/s": "mb/s", "%": "percent",
		"percent": "percent",
	}
	nameEnds = []struct{ end, unit string }{
		{"_error_count_total", "errors"},
		{"_requests_total", "requests"},
		{"request_success", "requests"},
		{"_seconds_total", "seconds"},
		{"_blocks_total", "blocks"},
		{"_milliseconds", "milliseconds"},
		{"_tokens_total", "tokens"},
		{"_errors_total", "errors"},
		{"_bytes_total", "bytes"},
		{"_nanoseconds", "nanoseconds"},
		{"_error_count", "errors"},
		{"_block_count", "blocks"},
		{"_kilobytes", "kilobytes"},
		{"_megabytes", "megabytes"},
		{"_gigabytes", "gigabytes"},
		{"_ms_total", "milliseconds"},
		{"_ns_total", "nanoseconds"},
		{"_requests", "requests"},
		{"_seconds", "seconds"},
		{"_percent", "percent"},
		{"_celsius", "celsius"},
		{"_tokens", "tokens"},
		{"_errors", "errors"},
		{"_blocks", "blocks"},
		{"_joules", "joule"},
		{"_bytes", "bytes"},
		{"_total", "count"},
		{"_count", "count"},
		{"_ratio", "ratio"},
		{"_watts", "watt"},
		{"_reqs", "requests"},
		{"_gb_s", "gb/s"},
		{"_perc", "percent"},
		{"_ms", "milliseconds"},
		{"_ns", "nanoseconds"},
	}
)

// inferUnit is the unit of a metric as AIPerf's files have it; "" where nothing tells it.
func inferUnit(name, help string) string {
	switch {
	case ratioRange.MatchString(help):
		return "ratio"
	case percentage.MatchString(help):
		return "percent"
	}
	if m := bracketed.FindStringSubmatch(help); m != nil && abbreviated[m[1]] != "" {
		return abbreviated[m[1]]
	}
	for _, s := range spelled {
		if s.text.MatchString(help) {
			return s.unit
		}
	}
	name = strings.ToLower(name)
	for _, e := range nameEnds {
		if strings.HasSuffix(name, e.end) {
			return e.unit
		}
	}
	if strings.Contains(name, "num_requests_") {
		return "requests"
	}
	return ""
}
