package metrics

import "aiperf.dev/aiperf/internal/record"

// wireMetrics say where the time of a request went on the wire, and how much was sent.
var wireMetrics = []Metric{
	{
		Tag: "http_req_blocked", Header: "HTTP Blocked", Unit: "ms",
		Formula:   "waiting for a free connection: always 0, as one is opened where none is free; waiting for a slot is admission_wait",
		Elsewhere: "http_req_blocked in k6", Group: HTTP, Order: 2000, Record: neverBlocked,
	},
	{
		Tag: "http_req_dns_lookup", Header: "HTTP DNS Lookup", Unit: "ms",
		Formula: "HTTP: spent on a connection that was opened for the request; 0 on a reused one", Group: HTTP,
		Order: 2010, Record: lookup,
	},
	{
		Tag: "http_req_connecting", Header: "HTTP Connecting", Unit: "ms", Formula: "TCP and TLS handshakes",
		Group: HTTP, Order: 2020, Record: tcpAndTLS,
	},
	{
		Tag: "http_req_connection_overhead", Header: "HTTP Connection Overhead", Unit: "ms",
		Formula: "dns_lookup + connecting; waiting for a free connection is admission_wait here",
		Group:   HTTP, Order: 2110, Record: connectionOverhead,
	},
	{
		Tag: "http_req_sending", Header: "HTTP Sending", Unit: "ms",
		Formula: "write end − sent; unlike AIPerf's it does not include connecting", Group: HTTP, Order: 2030,
		Record: since(sent, writeEnd),
	},
	{
		Tag: "http_req_waiting", Header: "HTTP Waiting (TTFB)", Unit: "ms", Formula: "first header byte − write end",
		Elsewhere: "TTFB; http_req_waiting in k6", Group: HTTP, Order: 2040, Record: since(writeEnd, firstByte),
	},
	{
		Tag: "http_req_receiving", Header: "HTTP Receiving", Unit: "ms", Formula: "end − first header byte",
		Group: HTTP, Order: 2050, Record: since(firstByte, end),
	},
	{
		Tag: "http_req_duration", Header: "HTTP Duration (excl. conn)", Unit: "ms",
		Formula: "sending + waiting + receiving", Elsewhere: "http_req_duration in k6: sending + waiting + receiving",
		Group: HTTP, Order: 2120, Record: since(sent, end),
	},
	{
		Tag: "http_req_total", Header: "HTTP Total Time", Unit: "ms", Formula: "duration + connection overhead",
		Group: HTTP, Order: 2130, Record: func(r *record.Record) float64 {
			return spanMS(r.Sent, r.End) +
				connectionOverhead(r)
		},
	},
	{
		Tag: "http_req_connection_reused", Header: "HTTP Connection Reused", Unit: "ratio",
		Formula: "1 where the request went over a connection that had served one before, else 0", Group: HTTP,
		Order: 2060, Over: Share, LargerIsBetter: true, Int: true, Record: reused,
	},
	{
		Tag: "http_req_data_sent", Header: "HTTP Data Sent", Unit: "KB", Formula: "KB = 1024 bytes, header and body",
		Group: HTTP, Order: 2070,
		Neutral: true, Record: func(r *record.Record) float64 { return count(r.BytesSent) / 1024 },
	},
	{
		Tag: "http_req_data_received", Header: "HTTP Data Received", Unit: "KB",
		Formula: "bytes of the answer / 1024, header and body", Group: HTTP, Order: 2090,
		Neutral: true, LargerIsBetter: true,
		Record: func(r *record.Record) float64 { return count(r.BytesReceived) / 1024 },
	},
	{
		Tag: "http_req_chunks_sent", Header: "HTTP Chunks Sent", Unit: "count",
		Formula: "a request is written as one piece", Group: HTTP, Order: 2080,
		Neutral: true, Int: true, LargerIsBetter: true,
		Record: oneChunk,
	},
	{
		Tag: "http_req_chunks_received", Header: "HTTP Chunks Received", Unit: "count",
		Formula: "reads that delivered at least one event", Group: HTTP, Order: 2100,
		Neutral: true, LargerIsBetter: true, Int: true,
		Record: reads,
	},
}
