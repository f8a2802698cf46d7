package diag

import (
	"errors"
	"fmt"
)

// Errorf is an error of a room that does not know what its caller was doing. The
// message is written as by fmt.Errorf, %w keeps a cause. It is a failure of the
// run, unless a caller that has sent nothing says otherwise.
func Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: Failed, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Try gives e its hint: the command or the setting that mends it.
func (e *Error) Try(hint string) *Error {
	e.Hint = hint
	return e
}

// Of is err as one mistake: what it says as a whole, with the hint, the code and
// the further lines of the mistake inside it. Without one inside it is a failure
// without a hint.
func Of(err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	out := &Error{Code: Failed, Message: err.Error(), Cause: err}
	if inner := (*Error)(nil); errors.As(err, &inner) {
		out.Code, out.Hint, out.More = inner.Code, inner.Hint, inner.More
	}
	return out
}

// Line is err with its hint where there is room for one line only: a journal, a
// log, the error of a request.
func Line(err error) string {
	if e := Of(err); e.Hint != "" {
		return e.Error() + "; hint: " + e.Hint
	}
	return err.Error()
}
