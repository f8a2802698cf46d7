"""A receiver of OTLP metrics made of the OpenTelemetry project's own messages.

Prints where it listens. /seen has the last value of each point that came: by metric and
attributes the sum of a counter, or the count and the sum of a histogram.
"""

import gzip
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

seen, resource, messages = {}, {}, 0


def keep(message):
    global messages
    messages += bool(message.resource_metrics)
    for rm in message.resource_metrics:
        resource.update({a.key: a.value.string_value for a in rm.resource.attributes})
        for scope in rm.scope_metrics:
            for m in scope.metrics:
                data = getattr(m, m.WhichOneof("data"))
                for p in data.data_points:
                    labels = ",".join(sorted(f"{a.key}={a.value.string_value}" for a in p.attributes))
                    if m.WhichOneof("data") == "histogram":
                        assert sum(p.bucket_counts) == p.count, m.name
                        value = {"count": p.count, "sum": p.sum}
                    else:
                        value = {"sum": p.as_int or p.as_double}
                    seen[f"{m.name}|{labels}"] = value | {"unit": m.unit}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        message = ExportMetricsServiceRequest()
        message.ParseFromString(body)
        keep(message)
        self.answer("application/x-protobuf", ExportMetricsServiceResponse().SerializeToString())

    def do_GET(self):
        self.answer("application/json", json.dumps({"seen": seen, "resource": resource, "messages": messages}).encode())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
