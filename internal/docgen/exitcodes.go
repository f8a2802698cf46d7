package docgen

import (
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
)

// ExitCodes is the table of the exit codes.
func ExitCodes(all []diag.Meaning) string {
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{fmt.Sprint(int(m.Code)), m.Doc})
	}
	return table([]string{"code", "meaning"}, rows)
}
