// Package header knows which header lines a person may add to requests.
package header

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Check tells why a header must not be sent: characters that would break out of
// its line, or a name that belongs to the framing.
func Check(name, value string) error {
	if name == "" {
		return fmt.Errorf("a header without a name")
	}
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c) {
			return fmt.Errorf("header %q: the character %q is not allowed in a name",
				strings.ToValidUTF8(name, string(utf8.RuneError)), c)
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("header %s: the control character %q is not allowed in a value", name, c)
		}
	}
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer",
		"upgrade", "expect":
		return fmt.Errorf("header %s: set by the connection itself", name)
	}
	return nil
}
