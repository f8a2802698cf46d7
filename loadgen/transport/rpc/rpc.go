// Package rpc turns JSON requests into gRPC messages and messages into JSON, so
// that whoever renders requests and reads answers need not know the difference.
// A method is the Open Inference Protocol's own, or any that a server tells of
// itself by reflection.
package rpc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"aiperf.dev/aiperf/internal/diag"
)

// Method is how one method is spoken.
type Method struct {
	Path   string // /package.Service/Method
	Stream bool   // the server sends several messages
	codec  codec
}

// Message is what the server describes: a type of message, and its fields.
type Message struct {
	Name   string
	Fields []string
}

// Answer is the message that the method answers with; its name is "" where
// nobody described one, or where it may hold anything.
func (m *Method) Answer() Message {
	d, ok := m.codec.(described)
	if !ok || strings.HasPrefix(string(d.method.Output().FullName()), "google.protobuf.") {
		return Message{}
	}
	return Message{string(d.method.Output().FullName()), fieldsOf(d.method.Output())}
}

type codec interface {
	Encode(body []byte) ([]byte, error)
	Decode(dst, message []byte) ([]byte, error)
}

// Encode is the message for a JSON request.
func (m *Method) Encode(body []byte) ([]byte, error) { return m.codec.Encode(body) }

// Decode appends the JSON of an answer's message.
func (m *Method) Decode(dst, message []byte) ([]byte, error) { return m.codec.Decode(dst, message) }

// Methods are those of one server, asked for once each. It is safe for
// concurrent use.
type Methods struct {
	conn *grpc.ClientConn
	mu   sync.Mutex
	have map[string]*Method
}

// NewMethods are those of the server behind conn.
func NewMethods(conn *grpc.ClientConn) *Methods {
	return &Methods{conn: conn, have: map[string]*Method{}}
}

// Close ends the connection.
func (s *Methods) Close() error { return s.conn.Close() }

// Find is the method that path names: /package.Service/Method, or an HTTP path
// of the Open Inference Protocol.
func (s *Methods) Find(ctx context.Context, path string) (*Method, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.have[path]; m != nil {
		return m, nil
	}
	m := &Method{Path: path}
	if k, ok := kserveOf(path); ok {
		*m = k
	} else if err := s.reflect(ctx, m); err != nil {
		return nil, err
	}
	s.have[path] = m
	return m, nil
}

// reflect asks the server what m takes and gives.
func (s *Methods) reflect(ctx context.Context, m *Method) error {
	service, name, ok := strings.Cut(strings.Trim(m.Path, "/"), "/")
	if !ok || service == "" || name == "" || strings.Contains(name, "/") {
		return mistake("endpoint.rpc.method: %s names no gRPC method",
			m.Path).Try("write it like package.Service/Method")
	}
	files, err := s.files(ctx, service)
	if err != nil {
		return err
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return mistake("endpoint.rpc.method: the server does not describe %s", service)
	}
	all, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return mistake("endpoint.rpc.method: %s is not a service", service)
	}
	method := all.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		return mistake("endpoint.rpc.method: %s has no method %s; it has %s",
			service, name, strings.Join(names(all), ", "))
	}
	if method.IsStreamingClient() && !method.IsStreamingServer() {
		return mistake("endpoint.rpc.method: %s takes a stream and gives one answer, which is not supported", m.Path)
	}
	m.Path = "/" + service + "/" + name
	m.Stream, m.codec = method.IsStreamingServer(), described{method}
	return nil
}

func names(s protoreflect.ServiceDescriptor) (out []string) {
	for i := range s.Methods().Len() {
		out = append(out, string(s.Methods().Get(i).Name()))
	}
	slices.Sort(out)
	return out
}

// mistake is an error of who wrote the experiment.
func mistake(format string, args ...any) *diag.Error {
	e := diag.Errorf(format, args...)
	e.Code = diag.Usage
	return e
}

// described speaks a method by its description.
type described struct {
	method protoreflect.MethodDescriptor
}

func (d described) Encode(body []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d.method.Input())
	if err := protojson.Unmarshal(body, m); err != nil {
		return nil, wrongBody(d.method.Input(), err)
	}
	return proto.Marshal(m)
}

// wrongBody is err about JSON that is no message of the type, with what it has.
func wrongBody(d protoreflect.MessageDescriptor, err error) error {
	// with blanks of two kinds
	why := strings.Join(strings.FieldsFunc(strings.TrimPrefix(err.Error(), "proto:"), unicode.IsSpace), " ")
	if _, after, ok := strings.Cut(why, "): "); ok && strings.HasPrefix(why, "(line ") {
		why = after // of the template's output, which nobody sees
	}
	return mistake("endpoint.rpc.body: it makes no %s: %s", d.FullName(), why).
		Try("its fields are " + strings.Join(fieldsOf(d), ", "))
}

func fieldsOf(d protoreflect.MessageDescriptor) (have []string) {
	for i := range d.Fields().Len() {
		have = append(have, string(d.Fields().Get(i).Name()))
	}
	return have
}

func (d described) Decode(dst, message []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d.method.Output())
	if err := proto.Unmarshal(message, m); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return protojson.MarshalOptions{UseProtoNames: true}.MarshalAppend(dst, m)
}
