package faultserver

import (
	"fmt"
	"strings"
)

// JSON is a complete answer with a length.
func JSON(body string) string { return Answer("200 OK", "application/json", body) }

// Answer is a complete answer with a length. Extra lines go into its header.
func Answer(status, contentType, body string, extra ...string) string {
	return Head(status, contentType, append(extra, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// Head is a response header up to and including its empty line.
func Head(status, contentType string, lines ...string) string {
	lines = append([]string{"HTTP/1.1 " + status, "Content-Type: " + contentType}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// StreamHead is the header of a chunked event stream.
func StreamHead() string { return Head("200 OK", "text/event-stream", "Transfer-Encoding: chunked") }

// Stream is a complete chunked event stream, one chunk per event.
func Stream(events ...string) string {
	var b strings.Builder
	b.WriteString(StreamHead())
	for _, e := range events {
		b.WriteString(Event(e))
	}
	return b.String() + LastChunk
}

// Event is one event in a chunk of its own.
func Event(data string) string { return Chunk("data: " + data + "\n\n") }

// LastChunk ends a chunked body.
const LastChunk = "0\r\n\r\n"

// Chunk is data as one HTTP chunk.
func Chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }
