package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
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
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// handshakeError marks an error of the TLS handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// isTLS tells whether TLS itself failed, here or as an alert of the server.
func isTLS(err error) bool {
	var handshake *handshakeError
	var alert *net.OpError
	return errors.As(err, &handshake) && !isTimeout(err) ||
		errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error")
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
	case errors.Is(err, io.EOF):
		return "the server closed the connection"
	case errors.As(err, &call):
		return call.Syscall + ": " + call.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}
