package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
)

// maxAnswer bounds what of a collector's answer is read.
const maxAnswer = 64 << 10

// sender posts messages to a collector.
type sender struct {
	url     string
	headers map[string]string
	gzip    bool
	client  *http.Client
}

// newSender makes one as OpenTelemetry's environment variables ask for: OTEL_EXPORTER_OTLP_
// HEADERS, COMPRESSION, CERTIFICATE, CLIENT_CERTIFICATE and CLIENT_KEY, and each of them
// with METRICS_ in front of its last part, which wins.
func newSender(to string) (*sender, error) {
	s := &sender{url: to, headers: environmentHeaders()}
	switch how := environment("COMPRESSION"); how {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION is %q; write gzip or none", words.Clip(how, 40))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	var err error
	if transport.TLSClientConfig, err = environmentTLS(); err != nil {
		return nil, err
	}
	s.client = &http.Client{
		Transport: transport,
		// The headers are credentials: they go to whom they were given for.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

func (s *sender) close() { s.client.CloseIdleConnections() }

// post sends one message; a body of nothing is a message without metrics.
func (s *sender) post(ctx context.Context, body []byte) error {
	packed := s.gzip && len(body) > 0
	if packed {
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		body = small.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return told(err)
	}
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if packed {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return told(err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	said, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %w", told(fmt.Errorf("%d: %s", res.StatusCode, strings.TrimSpace(string(said)))))
	}
	if err != nil {
		return told(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/x-protobuf") {
		return rejected(said)
	}
	return nil
}

// rejected is what an answer says of points that were not taken: field 1 of an
// ExportMetricsServiceResponse, with their number in field 1 and the reason in field 2. An
// answer that is none says nothing of the sort.
func rejected(answer []byte) error {
	var points uint64
	var why string
	for field, part := range fields(answer) {
		if field != 1 {
			continue
		}
		for field, value := range fields(part) {
			switch field {
			case 1:
				points, _ = protowire.ConsumeVarint(value)
			case 2:
				why = string(value)
			}
		}
	}
	if points == 0 && why == "" {
		return nil
	}
	return fmt.Errorf("it took all but %d points: %w", points, told(errors.New(strings.ToValidUTF8(why, "?"))))
}

// fields are those of a message, up to where it is broken: the bytes of a message or text,
// the encoded value of anything else.
func fields(message []byte) func(yield func(protowire.Number, []byte) bool) {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(message) > 0 {
			field, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				return
			}
			message = message[n:]
			n = protowire.ConsumeFieldValue(field, kind, message)
			if n < 0 {
				return
			}
			value := message[:n]
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			if !yield(field, value) {
				return
			}
			message = message[n:]
		}
	}
}

// told is an error as people may read it: one line, without credentials.
func told(err error) error {
	var of *url.Error // it names the address, which is said already
	if errors.As(err, &of) {
		err = of.Err
	}
	return errors.New(words.Clip(secret.Shapes(err.Error()), 200))
}

// environment is a setting of OpenTelemetry's exporters, the one for metrics before the one
// for all.
func environment(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// environmentHeaders are those that the environment asks exporters to send: pairs with
// commas between them, as in a URL's query.
func environmentHeaders() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				if v, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
					out[strings.TrimSpace(key)] = v
				}
			}
		}
	}
	return out
}

// environmentTLS are the certificates that the environment names; nil is the machine's own.
func environmentTLS() (*tls.Config, error) {
	ca, cert, key := environment("CERTIFICATE"), environment("CLIENT_CERTIFICATE"), environment("CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca) //nolint:gosec // named by whoever started this
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s holds no certificate in PEM", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and …_CLIENT_KEY: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
