package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"aiperf.dev/aiperf/internal/diag"
)

// maxFiles bounds what a server may make us ask for.
const maxFiles = 1000

// versions are the names that reflection has had; their messages are the same.
// Servers of other libraries still have the older one only.
var versions = []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}

var errNoReflection = mistake("endpoint.rpc: the server offers no reflection, so its methods are unknown").Try("turn reflection on there; --endpoint-type kserve_v2_infer needs none")

// dialogue is one talk about what a server has.
type dialogue struct {
	stream  grpc.ClientStream
	version int
}

// files are the descriptions that service depends on.
func (s *Methods) files(ctx context.Context, service string) (*protoregistry.Files, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the dialogue
	d := &dialogue{version: -1}
	first := &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}
	reply, err := s.open(ctx, d, first)
	if err != nil {
		return nil, err
	}
	if e := reply.GetErrorResponse(); e != nil {
		return nil, d.unknown(service, e)
	}
	have := map[string]*descriptorpb.FileDescriptorProto{}
	for {
		if err := keepFiles(have, reply); err != nil {
			return nil, fmt.Errorf("reflection of %s: %w", service, err)
		}
		next := missing(have)
		if next == "" {
			break
		}
		have[next] = &descriptorpb.FileDescriptorProto{Name: &next} // asked for once
		reply, err = d.ask(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: next},
		})
		if err != nil {
			return nil, fmt.Errorf("reflection of %s: %w", service, err)
		}
	}
	var set descriptorpb.FileDescriptorSet
	for _, f := range have {
		set.File = append(set.File, f)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("reflection of %s: %w", service, err)
	}
	return files, nil
}

// open begins the dialogue in the newest version that the server has, with its
// first question.
func (s *Methods) open(
	ctx context.Context, d *dialogue, first *reflection.ServerReflectionRequest,
) (*reflection.ServerReflectionResponse, error) {
	for v, name := range versions {
		stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
			"/"+name+"/ServerReflectionInfo")
		if err != nil {
			return nil, unanswered(err)
		}
		d.stream, d.version = stream, v
		reply, err := d.ask(first)
		switch {
		case err == nil:
			return reply, nil
		case status.Code(err) != codes.Unimplemented:
			return nil, unanswered(err)
		}
	}
	return nil, errNoReflection
}

// unanswered is err in place of the answer to the first question.
func unanswered(err error) error {
	s := status.Convert(err)
	why := s.Message()
	if s.Code() == codes.DeadlineExceeded {
		why = "no answer"
	}
	return &diag.Error{
		Code: diag.Failed, Message: "the question for its methods failed: " + why, Cause: err,
		Hint: "does a gRPC server listen there, and is it TLS that it speaks (grpcs://)?",
	}
}

// ask puts a question and takes the answer.
func (d *dialogue) ask(q *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := d.stream.SendMsg(q); err != nil && !errors.Is(err, io.EOF) { // then the answer says why
		return nil, err
	}
	reply := &reflection.ServerReflectionResponse{}
	return reply, d.stream.RecvMsg(reply)
}

// unknown is the error for a service that the server does not have, with those
// that it has.
func (d *dialogue) unknown(service string, e *reflection.ErrorResponse) error {
	reply, err := d.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	var have []string
	for _, s := range reply.GetListServicesResponse().GetService() {
		if !slices.Contains(versions, s.Name) {
			have = append(have, s.Name)
		}
	}
	if err != nil || len(have) == 0 {
		return fmt.Errorf("reflection of %s: %s", service, e.ErrorMessage)
	}
	slices.Sort(have)
	return mistake("endpoint.rpc.method: the server has no service %s; it has %s", service, strings.Join(have, ", "))
}

// keepFiles adds the files of an answer to those we have.
func keepFiles(have map[string]*descriptorpb.FileDescriptorProto, reply *reflection.ServerReflectionResponse) error {
	if e := reply.GetErrorResponse(); e != nil {
		return errors.New(e.ErrorMessage)
	}
	for _, b := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		var f descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(b, &f); err != nil {
			return err
		}
		have[f.GetName()] = &f
	}
	return nil
}

// missing is a file that another one needs and that nobody has asked for, ""
// for none.
func missing(have map[string]*descriptorpb.FileDescriptorProto) string {
	if len(have) >= maxFiles {
		return ""
	}
	for _, f := range have {
		for _, dep := range f.Dependency {
			if have[dep] == nil {
				return dep
			}
		}
	}
	return ""
}
