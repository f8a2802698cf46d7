package mode

import (
	"fmt"

	"aiperf.dev/aiperf/schema"
)

// errorf is a mistake in a phase's settings.
func errorf(p *schema.Phase, format string, args ...any) error {
	return fmt.Errorf("phase %s: %w", p.Name, fmt.Errorf(format, args...))
}

// fieldError is a mistake in one field.
func fieldError(field, format string, args ...any) error {
	return fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...))
}
