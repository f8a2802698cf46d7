"""A server of Triton's protocol, by Python's grpcio and the messages that
NVIDIA publishes with tritonclient. With an argument it offers reflection."""

import signal
import sys
import threading
from concurrent import futures

import grpc
from grpc_reflection.v1alpha import reflection
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc as rpc


def words(request):
    """The words asked for, one for each of the request's."""
    given = b" ".join(request.inputs[0].contents.bytes_contents).decode()
    return ["w%d " % i for i, _ in enumerate(given.split())][:8]


def answer(request, text):
    out = pb.ModelInferResponse(model_name=request.model_name, model_version="1", id=request.id)
    tensor = out.outputs.add(name="text_output", datatype="BYTES")
    tensor.shape.extend([1, 1])
    raw = text.encode()
    out.raw_output_contents.append(len(raw).to_bytes(4, "little") + raw)
    return out


lock = threading.Lock()


class Triton(rpc.GRPCInferenceServiceServicer):
    def ServerLive(self, request, context):
        return pb.ServerLiveResponse(live=True)

    def ModelInfer(self, request, context):
        self.log("ModelInfer", request, context)
        if request.model_name == "absent":
            context.abort(grpc.StatusCode.NOT_FOUND, "Request for unknown model: 'absent' is not found")
        return answer(request, "".join(words(request)))

    def ModelStreamInfer(self, requests, context):
        for request in requests:
            self.log("ModelStreamInfer", request, context)
            if request.model_name == "absent":
                yield pb.ModelStreamInferResponse(error_message="unknown model 'absent'")
                return
            for w in words(request):
                yield pb.ModelStreamInferResponse(infer_response=answer(request, w))
            final = pb.ModelInferResponse(model_name=request.model_name)
            final.parameters["triton_final_response"].bool_param = True
            yield pb.ModelStreamInferResponse(infer_response=final)

    def log(self, method, request, context):
        said = dict(context.invocation_metadata())
        with lock:  # print writes its words one by one
            print(method, request.model_name, "tokens=%d" % request.parameters["max_tokens"].int64_param,
                  "id=%s" % bool(said.get("x-request-id")), "team=%s" % said.get("team"),
                  "deadline=%s" % (context.time_remaining() is not None), flush=True)


server = grpc.server(futures.ThreadPoolExecutor(8))
rpc.add_GRPCInferenceServiceServicer_to_server(Triton(), server)
if sys.argv[1:]:
    reflection.enable_server_reflection(("inference.GRPCInferenceService", reflection.SERVICE_NAME), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print("Listening on http://127.0.0.1:%d" % port, flush=True)
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
over.wait()
server.stop(0).wait()
