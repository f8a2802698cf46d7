package grpcserve

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The services, as reflection describes them: the Open Inference Protocol by
// the names and numbers of its published grpc_service.proto, with Triton's
// ModelStreamInfer, and a small one of our own.
const (
	inferService = "inference.GRPCInferenceService"
	textService  = "aiperf.v1.Text"
)

type (
	fieldType = descriptorpb.FieldDescriptorProto_Type
	field     = descriptorpb.FieldDescriptorProto
)

const (
	isBool   = descriptorpb.FieldDescriptorProto_TYPE_BOOL
	isInt32  = descriptorpb.FieldDescriptorProto_TYPE_INT32
	isInt64  = descriptorpb.FieldDescriptorProto_TYPE_INT64
	isUint32 = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	isUint64 = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	isFloat  = descriptorpb.FieldDescriptorProto_TYPE_FLOAT
	isDouble = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	isString = descriptorpb.FieldDescriptorProto_TYPE_STRING
	isBytes  = descriptorpb.FieldDescriptorProto_TYPE_BYTES
)

func one(number int32, name string, t fieldType) *field {
	return &field{
		Name: &name, Number: &number, Type: &t,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
}

func many(f *field) *field {
	f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	return f
}

// of is a field that holds a message of the same package.
func of(number int32, name, message string) *field {
	f := one(number, name, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)
	f.TypeName = &message
	return f
}

func message(name string, fields ...*field) *descriptorpb.DescriptorProto {
	return &descriptorpb.DescriptorProto{Name: &name, Field: fields}
}

// withParameters adds the map of named values that several messages have.
func withParameters(number int32, m *descriptorpb.DescriptorProto) *descriptorpb.DescriptorProto {
	entry := message("ParametersEntry", one(1, "key", isString), of(2, "value", ".inference.InferParameter"))
	entry.Options = &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}
	m.NestedType = append(m.NestedType, entry)
	m.Field = append(m.Field, many(of(number, "parameters", ".inference."+m.GetName()+".ParametersEntry")))
	return m
}

func method(name, in, out string, streams bool) *descriptorpb.MethodDescriptorProto {
	return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: &in, OutputType: &out, ServerStreaming: &streams}
}

func file(
	name, pkg, service string, messages []*descriptorpb.DescriptorProto, methods ...*descriptorpb.MethodDescriptorProto,
) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: &name, Package: &pkg, Syntax: proto.String("proto3"), MessageType: messages,
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: &service, Method: methods}},
	}
}

// described are the descriptions of both services.
func described() (*protoregistry.Files, error) {
	parameter := message("InferParameter", one(1, "bool_param", isBool), one(2, "int64_param", isInt64),
		one(3, "string_param", isString), one(4, "double_param", isDouble), one(5, "uint64_param", isUint64))
	parameter.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("parameter_choice")}}
	for _, f := range parameter.Field {
		f.OneofIndex = proto.Int32(0)
	}
	tensor := func(name string) *descriptorpb.DescriptorProto {
		return withParameters(4, message(name, one(1, "name", isString), one(2, "datatype", isString),
			many(one(3, "shape", isInt64)), of(5, "contents", ".inference.InferTensorContents")))
	}
	contents := message("InferTensorContents", many(one(1, "bool_contents", isBool)),
		many(one(2, "int_contents", isInt32)),
		many(one(3, "int64_contents", isInt64)), many(one(4, "uint_contents", isUint32)),
		many(one(5, "uint64_contents", isUint64)),
		many(one(6, "fp32_contents", isFloat)), many(one(7, "fp64_contents", isDouble)),
		many(one(8, "bytes_contents", isBytes)))
	infer := file("grpc_service.proto", "inference", "GRPCInferenceService", []*descriptorpb.DescriptorProto{
		message("ServerLiveRequest"), message("ServerLiveResponse", one(1, "live", isBool)),
		message("ServerReadyRequest"), message("ServerReadyResponse", one(1, "ready", isBool)),
		message("ModelReadyRequest", one(1, "name", isString), one(2, "version", isString)),
		message("ModelReadyResponse", one(1, "ready", isBool)),
		parameter, contents, tensor("InferInputTensor"), tensor("InferOutputTensor"),
		withParameters(2, message("InferRequestedOutputTensor", one(1, "name", isString))),
		withParameters(4, message("ModelInferRequest", one(1, "model_name", isString),
			one(2, "model_version", isString), one(3, "id", isString),
			many(of(5, "inputs", ".inference.InferInputTensor")),
			many(of(6, "outputs", ".inference.InferRequestedOutputTensor")),
			many(one(7, "raw_input_contents", isBytes)))),
		withParameters(4, message("ModelInferResponse", one(1, "model_name", isString),
			one(2, "model_version", isString), one(3, "id", isString),
			many(of(5, "outputs", ".inference.InferOutputTensor")), many(one(6, "raw_output_contents", isBytes)))),
		message("ModelStreamInferResponse", one(1, "error_message", isString),
			of(2, "infer_response", ".inference.ModelInferResponse")),
	},
		method("ServerLive", ".inference.ServerLiveRequest", ".inference.ServerLiveResponse", false),
		method("ServerReady", ".inference.ServerReadyRequest", ".inference.ServerReadyResponse", false),
		method("ModelReady", ".inference.ModelReadyRequest", ".inference.ModelReadyResponse", false),
		method("ModelInfer", ".inference.ModelInferRequest", ".inference.ModelInferResponse", false),
		method("ModelStreamInfer", ".inference.ModelInferRequest", ".inference.ModelStreamInferResponse", true))
	infer.Service[0].Method[4].ClientStreaming = proto.Bool(true)
	text := file("aiperf_text.proto", "aiperf.v1", "Text", []*descriptorpb.DescriptorProto{
		message("Prompt", one(1, "prompt", isString), one(2, "max_tokens", isInt32)),
		message("Piece", one(1, "token", isString), one(2, "finished", isBool)),
	},
		method("Complete", ".aiperf.v1.Prompt", ".aiperf.v1.Piece", false),
		method("Generate", ".aiperf.v1.Prompt", ".aiperf.v1.Piece", true))
	return protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{infer, text}})
}

// offered lists the services for reflection.
type offered struct{}

func (offered) GetServiceInfo() map[string]grpc.ServiceInfo {
	return map[string]grpc.ServiceInfo{inferService: {}, textService: {}}
}
