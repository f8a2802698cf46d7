package faults

import "testing"

func ends(*testing.M) {}
