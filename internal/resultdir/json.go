package resultdir

import (
	"encoding/json"
	"fmt"
	"os"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/secret"
)

// WriteJSON writes v indented, atomically.
func WriteJSON(path string, v any) error { return WriteMasked(path, v, nil) }

// WriteMasked is WriteJSON without the secrets that hide knows.
func WriteMasked(path string, v any, hide *secret.Masker) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, append(hide.OwnJSON(b), '\n'))
}

// ReadJSON reads a file that holds one value.
func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
