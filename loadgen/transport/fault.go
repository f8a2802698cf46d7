package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"aiperf.dev/aiperf/internal/record"
)

// failed says how an exchange ended whose connection could not be made, or
// broke with err.
func failed(err error) ending {
	kind, status := classify(err)
	return ending{status: status, kind: kind, text: reason(err), asked: record.None}
}

// classify names the kind of a network error. What is our own machine's
// shortage is the client's fault.
func classify(err error) (kind string, status record.Status) {
	var dns *net.DNSError
	switch {
	case isAny(err, errnoDescriptors[:]...):
		return "emfile", record.Client
	case isAny(err, errnoPorts[:]...):
		return "eaddrnotavail", record.Client
	case errors.As(err, &dns):
		return "dns", record.Connection
	case isTLS(err):
		return "tls", record.Connection
	case isAny(err, errnoRefused[:]...):
		return "refused", record.Connection
	case isAny(err, errnoUnreachable[:]...):
		return "unreachable", record.Connection
	case isTimeout(err):
		return "timeout", record.Connection
	}
	return "reset", record.Connection
}

func isAny(err error, list ...syscall.Errno) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) &&
		t.Timeout()
}

// handshakeError marks an error of the TLS handshake.
type handshakeError struct {
	err         error
	certificate bool // the server had asked for a client certificate, and there was none
}

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// isTLS reports whether TLS itself failed, here or as an alert of the server.
func isTLS(err error) bool {
	var handshake *handshakeError
	var alert *net.OpError
	return errors.As(err, &handshake) && !isTimeout(err) ||
		errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error")
}

// The alerts by which a server refuses the client's certificate (RFC 8446, 6.2).
// Before TLS 1.3 there was none for a missing one: servers chose among the first two.
const (
	alertHandshake   tls.AlertError = 40
	alertBad         tls.AlertError = 42
	alertUnsupported tls.AlertError = 43
	alertRevoked     tls.AlertError = 44
	alertExpired     tls.AlertError = 45
	alertUnknown     tls.AlertError = 46
	alertUnknownCA   tls.AlertError = 48
	alertRequired    tls.AlertError = 116
)

// isAlert reports whether err is one of these alerts of the server. The type of
// what the connection returns is not exported: its words are those of AlertError.
func isAlert(err error, among ...tls.AlertError) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	for _, a := range among {
		if op.Err.Error() == a.Error() {
			return true
		}
	}
	return false
}

// lacksCertificate reports whether the server failed because it wants a client certificate and
// got none.
func lacksCertificate(err error) bool {
	var handshake *handshakeError
	return isAlert(err, alertRequired) ||
		errors.As(err, &handshake) && handshake.certificate && isAlert(err, alertHandshake, alertBad)
}

// reason is err in words, without the addresses that net repeats.
func reason(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
		record   tls.RecordHeaderError
		op       *net.OpError
		call     *os.SyscallError
	)
	switch {
	case errors.As(err, &unknown):
		return "TLS: the server's certificate is signed by an unknown authority; name its CA with --ca-file (endpoint.ca_file), or accept any with --insecure"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "TLS: the server's certificate has expired or is not yet valid: " + invalid.Detail
	case errors.As(err, &hostname):
		return "TLS: the server's certificate is for another host: " + hostname.Error()
	case errors.As(err, &record):
		return "TLS: the server answered in plain text; use http:// (or grpc://) for this URL"
	case lacksCertificate(err):
		return "TLS: the server asks for a client certificate; name one with --client-cert and --client-key (endpoint.client_cert, endpoint.client_key)"
	case isAlert(err, alertBad, alertUnsupported, alertRevoked, alertExpired, alertUnknown, alertUnknownCA):
		errors.As(err, &op)
		return "TLS: the server does not accept the client certificate (" + strings.TrimPrefix(op.Err.Error(),
			"tls: ") + "); check --client-cert and --client-key"
	case errors.Is(err, io.EOF):
		return "the server closed the connection"
	case errors.As(err, &call):
		return call.Syscall + ": " + call.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}
