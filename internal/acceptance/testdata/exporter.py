"""A page of metrics by prometheus_client, whose values change with each time it is read.

Prints where it listens. /said has what each reading was told.
"""

import json
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

registry = CollectorRegistry()
made = Counter("vllm:generation_tokens", "Tokens.", ["model_name"], registry=registry).labels('a "b" \\ c\nd')
running = Gauge("vllm:num_requests_running", "Requests.", registry=registry)
first = Histogram("vllm:time_to_first_token_seconds", "TTFT.", buckets=(0.1, 1, 10), registry=registry)
said = []


def app(environ, start_response):
    if environ["PATH_INFO"] == "/said":
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(said).encode()]
    n = len(said) + 1
    made.inc(n)
    running.set(n % 7)
    first.observe(n % 13)
    value = registry.get_sample_value
    said.append({
        "vllm:generation_tokens_total": value("vllm:generation_tokens_total", {"model_name": 'a "b" \\ c\nd'}),
        "vllm:num_requests_running": value("vllm:num_requests_running"),
        "vllm:time_to_first_token_seconds_sum": value("vllm:time_to_first_token_seconds_sum"),
        "vllm:time_to_first_token_seconds_count": value("vllm:time_to_first_token_seconds_count"),
    })
    encode, kind = choose_encoder(environ.get("HTTP_ACCEPT", ""))
    start_response("200 OK", [("Content-Type", kind)])
    return [encode(registry)]


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
