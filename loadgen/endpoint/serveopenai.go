package endpoint

import (
	"fmt"
)

// What the answers of OpenAI's APIs on the built-in server have in common.

// servedHead opens the object that every event of chat and completions is.
func servedHead(b []byte, s *Script, object string) []byte {
	return fmt.Appendf(b, `"id":"%s","object":"%s","created":%d,"model":%s`, s.ID, object, s.Created, quoted(s.Call.Model))
}

func quoted(s string) []byte { return appendString(nil, s) }

// servedUsage writes the report after made tokens.
func servedUsage(b []byte, s *Script, made int) []byte {
	in, out := s.Claimed(s.In), s.Claimed(made)
	b = fmt.Appendf(b, `"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`, in, out, in+out)
	if s.Cached > 0 || s.Caches {
		b = fmt.Appendf(b, `,"prompt_tokens_details":{"cached_tokens":%d}`, s.Cached)
	}
	if n := min(made, s.Reasoning); n > 0 {
		b = fmt.Appendf(b, `,"completion_tokens_details":{"reasoning_tokens":%d}`, n)
	}
	return append(b, '}')
}

// closeEvent ends an event, with the usage so far if every event has it.
func closeEvent(b []byte, s *Script, made int) []byte {
	if s.UsageEach {
		b = servedUsage(append(b, ','), s, made)
	}
	return append(b, "}\n\n"...)
}

// servedTail is the usage event, with no choices, and the end mark.
func servedTail(b []byte, s *Script, object string) []byte {
	if s.Usage {
		b = servedHead(append(b, "data: {"...), s, object)
		b = servedUsage(append(b, `,"choices":[],`...), s, s.Made)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// closeWhole ends an answer of chat or completions.
func closeWhole(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `,"finish_reason":"%s"}]`, s.Finish("length", "stop"))
	if s.Usage {
		b = servedUsage(append(b, ','), s, s.Out)
	}
	return append(b, '}')
}

// servedCalls writes tokens from..to as a list of function calls, or of pieces
// of them: of each call the first piece has its id and name, and all pieces of
// its arguments together are a JSON object. Pieces in a stream say whose they
// are.
func servedCalls(b []byte, s *Script, from, to int, pieces bool) []byte {
	b = append(b, '[')
	begins := func(i int) int { return s.Reasoning + i*(s.Out-s.Reasoning)/s.Calls }
	for i := 0; from < to; i++ {
		first, end := begins(i), begins(i+1)
		if end <= from {
			continue
		}
		b = append(comma(b), '{')
		if pieces {
			b = fmt.Appendf(b, `"index":%d,`, i)
		}
		if from == first {
			b = fmt.Appendf(b, `"id":"call-%s-%d","type":"function","function":{"name":"look_up","arguments":"{\"text\":\"`, s.ID, i)
		} else {
			b = append(b, `"function":{"arguments":"`...)
		}
		b = s.Words(b, from, min(to, end))
		if from = min(to, end); from == end {
			b = append(b, `\"}`...)
		}
		b = append(b, `"}}`...)
	}
	return append(b, ']')
}
