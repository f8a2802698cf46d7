//go:build !unix

package faults

import (
	"testing"

	"aiperf.dev/aiperf/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
