package compat

// variables are those that mean something here. What only tunes AIPerf's services, queues and
// screens is named in one warning.
var variables = []Variable{
	{Name: "AIPERF_HTTP_SSL_VERIFY", Path: "benchmark.endpoint.insecure", to: true},
	{Name: "AIPERF_HTTP_TRUST_ENV", Path: "benchmark.endpoint.proxy", to: "env"},
	{Name: "AIPERF_HTTP_FORCE_CLOSE", Path: "benchmark.endpoint.connection_reuse", to: "never"},
	{
		Name: "AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID",
		Path: "benchmark.endpoint.headers.X-Session-ID", to: "{session_id}",
	},
	{
		Name: "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID",
		Path: "benchmark.endpoint.headers.X-SMG-Routing-Key", to: "{session_id}",
	},
	{
		Name: "AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID",
		Path: "benchmark.endpoint.headers.X-Dynamo-Session-ID", to: "{session_id}",
	},
	{Name: "AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", Path: "benchmark.gpu_telemetry.urls"},
	{Name: "AIPERF_NETWORK_LATENCY_DEFAULT_PROBE_INTERVAL", Path: "benchmark.network_latency.ping_interval"},
	{
		Name: "AIPERF_ACCURACY_LCB_RELEASE_TAG",
		Read: "the release of lcb_codegeneration whose questions are asked",
	},
	{
		Name: "AIPERF_ACCURACY_LCB_GRADE_TIMEOUT_MAX_S",
		Read: "seconds that all tests of one answer's code may take, where 7 for each test and 5 are more",
	},

	// What would be sent, measured or counted otherwise.
	{
		Name: "AIPERF_HTTP_CONNECTION_LIMIT",
		Why:  "connections are not limited; phases.in_flight caps the requests on the wire",
	},
	{Name: "AIPERF_HTTP_IP_VERSION", Why: "name the address in --url"},
	{
		Name: "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID",
		Why:  "X-Session-Affinity is always sent; --header X-Session-Affinity:VALUE gives it another value",
	},
	{Name: "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", Why: "a text alone is sent as a string"},
	{Name: "AIPERF_INJECTED_HEADERS", Why: "--header NAME:VALUE sends a header"},
	{
		Name: "AIPERF_TIMING_MAX_CATCHUP_SECONDS",
		Why:  "a late client always catches up; phases.on_cap: skip drops arrivals that find no slot",
	},
	{Name: "AIPERF_TIMING_RATE_RAMP_UPDATE_INTERVAL", Why: "a rate grows every 0.1 s"},
	{
		Name: "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT",
		Why:  "what is cancelled ends at once; phases.grace_period says how long to wait before",
	},
	{
		Name: "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD",
		Why:  "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths",
	},
	{
		Name: "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD",
		Why:  "output lengths are flagged beyond 5 % or 50 tokens; the requests table has both lengths",
	},
	{
		Name: "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD",
		Why:  "counts are flagged beyond 10 %; the requests table has both counts",
	},
	{Name: "AIPERF_METRICS_LIST_BACKEND", Why: "every value is kept, so percentiles are exact"},
	{Name: "AIPERF_METRICS_TDIGEST_COMPRESSION", Why: "every value is kept, so percentiles are exact"},
	{Name: "AIPERF_DATASET_PREFORMAT_PAYLOADS", Why: "bodies are made ahead anyway, and input lengths are kept"},
	{Name: "AIPERF_RECORD_STRIP_PAYLOAD_BYTES", Why: "bodies are not kept in memory; input lengths always are"},
	{Name: "AIPERF_DAG_FAIL_FAST", Why: "--failed-request-threshold stops a run that fails"},
	{
		Name: "AIPERF_AGENTX_CONTEXT_OVERFLOW_SUBSTRINGS",
		Why:  "a request that the server refuses is a failure, whatever the server says of it",
	},
	{
		Name: "AIPERF_AGENTX_CONTEXT_OVERFLOW_RATE_LIMIT",
		Why:  "--failed-request-threshold says which share of failures ends a run",
	},
	{
		Name: "AIPERF_DATASET_BASETEN_SESSION_COLUMN",
		Why:  "columns of a table are named in the file: dataset: columns: {session_id: \"…\"}",
	},
	{Name: "AIPERF_SEARCH_PLANNER_SLA_PRECISION_DEFAULT", Why: "sweep.sla_precision says it in the file"},
	{Name: "AIPERF_SEARCH_PLANNER_SLA_PRECISION_REQUESTS", Why: "--request-count says how long a probe is"},
	{Name: "AIPERF_SEARCH_PLANNER_DEFAULT_WARMUP_SECONDS", Why: "sweep.sla_warmup_seconds says it in the file"},
	{Name: "AIPERF_SEARCH_PLANNER_FIRST_PROBE_WARMUP_FLOOR", Why: "sweep.sla_warmup_seconds says it in the file"},
	{Name: "AIPERF_SEARCH_PLANNER_REPLICATE_WARMUP_FLOOR", Why: "sweep.sla_warmup_seconds says it in the file"},

	// What changes no figure.
	{Name: "AIPERF_CHAT_CONNECT_TIMEOUT", Told: "aiperf chat waits 10 s for a connection"},
	{Name: "AIPERF_CHAT_READ_TIMEOUT", Told: "aiperf chat waits 300 s between two pieces of an answer"},
	{Name: "AIPERF_DATASET_PUBLIC_DATASET_TIMEOUT", Told: "--allow-download fetches before a run, and says what it does"},
	{Name: "AIPERF_DATASET_MEDIA_DOWNLOAD_TIMEOUT", Told: "addresses of media are sent to the server, and not fetched"},
	{
		Name: "AIPERF_DATASET_MEDIA_DOWNLOAD_MAX_CONCURRENCY",
		Told: "addresses of media are sent to the server, and not fetched",
	},
	{Name: "AIPERF_DATASET_INLINE_RECORDS_WARN_THRESHOLD", Told: "aiperf does not warn of them"},
	{Name: "AIPERF_DEV_MODE", Told: "every metric is in the tables: aiperf export DIR --table metrics"},
	{
		Name: "AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS",
		Told: "every metric is in the tables: aiperf export DIR --table metrics",
	},
	{
		Name: "AIPERF_DEV_SHOW_INTERNAL_METRICS",
		Told: "every metric is in the tables: aiperf export DIR --table metrics",
	},
	{Name: "AIPERF_GPU_COLLECTION_INTERVAL", Told: "GPUs are read three times a second"},
	{Name: "AIPERF_GPU_FINAL_SCRAPE_GRACE_NS", Told: "a last look is taken at the border of each phase"},
	{Name: "AIPERF_GPU_REACHABILITY_TIMEOUT", Told: "one look at a page may take a second"},
	{Name: "AIPERF_HTTP_KEEPALIVE_TIMEOUT", Told: "a connection is kept while the server keeps it"},
	{Name: "AIPERF_HTTP_SO_RCVBUF", Told: "the kernel sizes the buffers of a connection"},
	{Name: "AIPERF_HTTP_SO_SNDBUF", Told: "the kernel sizes the buffers of a connection"},
	{Name: "AIPERF_HTTP_TCP_USER_TIMEOUT", Told: "keep-alive probes notice a dead connection"},
	{Name: "AIPERF_HTTP_TTL_DNS_CACHE", Told: "names are looked up when connections are opened"},
	{Name: "AIPERF_HTTP_USE_DNS_CACHE", Told: "names are looked up when connections are opened"},
	{
		Name: "AIPERF_HTTP_REQUEST_CANCELLATION_SEND_TIMEOUT",
		Told: "a request is cancelled --request-cancellation-delay after it was sent, however long sending takes",
	},
	{Name: "AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT", Told: "one look at a page may take a second"},
	{Name: "AIPERF_HTTP_VIDEO_POLL_INTERVAL", Told: "a job of the server is asked about every 0.1 s"},
	{Name: "AIPERF_MLFLOW_EXPORT_TIMEOUT_SECONDS", Told: "one call to MLflow may take 30 s"},
	{Name: "AIPERF_OTEL_FLUSH_INTERVAL_SECONDS", Told: "metrics are sent every 2 s"},
	{Name: "AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS", Told: "one message may take 10 s"},
	{Name: "AIPERF_OTEL_MAX_BATCH_RECORDS", Told: "metrics are sums and histograms, which do not grow with the requests"},
	{Name: "AIPERF_OTEL_MAX_BUFFERED_RECORDS", Told: "metrics are sums and histograms, which do not grow with the requests"},
	{Name: "AIPERF_NETWORK_LATENCY_MIN_SAMPLES", Told: "five connections are made at least, if need be after the load"},
	{Name: "AIPERF_NETWORK_LATENCY_CONNECT_TIMEOUT", Told: "one connection may take 5 s"},
	{Name: "AIPERF_NETWORK_LATENCY_COMPLETE_TOPUP_TIMEOUT", Told: "samples that lack at the end are taken within 3 s"},
	{Name: "AIPERF_SERVER_METRICS_COLLECTION_INTERVAL", Told: "pages are read three times a second"},
	{Name: "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", Told: "a last look is taken at the border of each phase"},
	{Name: "AIPERF_SERVER_METRICS_SCRAPE_TIMEOUT", Told: "one look at a page may take a second"},
	{Name: "AIPERF_SERVER_METRICS_REACHABILITY_TIMEOUT", Told: "one look at a page may take a second"},
	{Name: "AIPERF_UI_CONSOLE_EXPORT_WIDTH", Told: "the file of the console has AIPerf's usual width"},
	{Name: "AIPERF_UI_REALTIME_METRICS_INTERVAL", Told: "--progress says what is shown while requests are sent"},
	{Name: "AIPERF_UI_REALTIME_METRICS_ENABLED", Told: "--progress says what is shown while requests are sent"},
	{Name: "AIPERF_WANDB_EXPORT_TIMEOUT_SECONDS", Told: "the upload to Weights & Biases has no limit of its own"},
}
