package endpoint_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

const none = record.None

var nan = math.NaN()

func usage(prompt, completion, reasoning, total, cached int64) claims.Usage {
	return claims.Usage{
		Prompt: prompt, Completion: completion, Reasoning: reasoning, Total: total,
		Cached: cached, Accepted: none, Rejected: none,
	}
}

// readCases are answers as real servers write them, the odd ones among them.
var readCases = []struct {
	typ, name string
	stream    bool
	data      string
	want      endpoint.Chunk // Usage left zero means NoUsage
}{
	{"chat", "content", true, `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" the"},"logprobs":null,"finish_reason":null}]}`, endpoint.Chunk{Text: " the"}},
	{"chat", "role only, empty content, usage null", true, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`, endpoint.Chunk{Empty: true}},
	{"chat", "role only, spaces", true, ` { "choices" : [ { "delta" : { "role" : "assistant" } , "index" : 0 } ] } `, endpoint.Chunk{Empty: true}},
	{"chat", "white space is content", true, `{"choices":[{"delta":{"content":"\n"}}]}`, endpoint.Chunk{Text: "\n"}},
	{"chat", "finish mark", true, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, endpoint.Chunk{Empty: true, Finish: "length"}},
	{"chat", "usage without choices", true, `{"choices":[],"usage":{"prompt_tokens":25,"total_tokens":33,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(25, 8, 3, 33, 0)}},
	{"chat", "usage of a predicted answer", true, `{"choices":[],"usage":{"prompt_tokens":25,"completion_tokens":8,"completion_tokens_details":{"accepted_prediction_tokens":6,"rejected_prediction_tokens":0}}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: claims.Usage{Prompt: 25, Completion: 8, Reasoning: none, Total: none, Cached: none, Accepted: 6, Rejected: 0}}},
	{"chat", "usage beside choices", true, `{"choices":[{"delta":{},"index":0}],"usage":{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":null}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(5, 0, none, none, none)}},
	{"chat", "usage beside content", true, `{"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":4}}`, endpoint.Chunk{Text: "x", Usage: usage(none, 4, none, none, none)}},
	{"chat", "usage, other names", true, `{"choices":[],"usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":7}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(16, 7, none, none, 4)}},
	{"chat", "usage, first synonym wins", true, `{"choices":[],"usage":{"input_tokens":10,"prompt_tokens":11,"promptTokenCount":12,"prompt_cache_hit_tokens":1,"total_tokens":1e1}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(11, none, none, 10, 1)}},
	{"chat", "usage that is none", true, `{"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":-1,"total_tokens":1.5}}`, endpoint.Chunk{Empty: true}},
	{"chat", "done", true, ` [DONE]`, endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"chat", "reasoning_content", true, `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"chat", "reasoning", true, `{"choices":[{"delta":{"reasoning_content":"","reasoning":"hm","content":""}}]}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"chat", "reasoning and content", true, `{"choices":[{"delta":{"reasoning":"hm","content":"so"}}]}`, endpoint.Chunk{Text: "so", Reasoning: "hm"}},
	{"chat", "tool call", true, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\""}},{"function":{"arguments":":1}"}}]}}]}`, endpoint.Chunk{Kind: record.Tool, Text: `f{"a":1}`}},
	{"chat", "tool call beside prose", true, `{"choices":[{"delta":{"content":"I call ","function_call":{"name":"g","arguments":{"a":1}}}}]}`, endpoint.Chunk{Kind: record.Tool, Text: `I call g{"a":1}`}},
	{"chat", "only the first choice", true, `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "escapes", true, `{"choices":[{"delta":{"content":"\u00e9\ud83d\ude00\ud800x\"\\\/\b\f\n\r\té` + "\xff" + `"}}]}`, endpoint.Chunk{Text: "é😀\ufffdx\"\\/\b\f\n\r\té\ufffd"}},
	{"chat", "escaped key", true, `{"choice\u0073":[{"delta":{"content":"a"}}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "token ids", true, `{"choices":[{"delta":{"content":"a b"},"token_ids":[5,6,7]}]}`, endpoint.Chunk{Text: "a b", Tokens: 3}},
	{"chat", "logprobs", true, `{"choices":[{"delta":{"content":"a b"},"logprobs":{"content":[{"token":"a","top_logprobs":[]},{"token":" b"}],"refusal":null}}]}`, endpoint.Chunk{Text: "a b", Tokens: 2}},
	{"chat", "another object in the stream", true, `{"type":"ping"}`, endpoint.Chunk{Empty: true}},
	{"chat", "error object", true, `{"error":{"message":"out of memory","type":"server_error","code":500}}`, endpoint.Chunk{Empty: true, ErrKind: "server_error", ErrText: "out of memory"}},
	{"chat", "error code only", true, `{"error":{"code":503,"detail":[1]}}`, endpoint.Chunk{Empty: true, ErrKind: "503", ErrText: `{"code":503,"detail":[1]}`}},
	{"chat", "error string", false, `{"error":"nope"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "nope"}},
	{"chat", "error null", true, `{"error":null,"choices":[{"delta":{"content":"a"}}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "error at the top", false, `{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}`, endpoint.Chunk{Empty: true, ErrKind: "BadRequestError", ErrText: "too long"}},
	{"completions", "error in a stream, at the top", true, `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, endpoint.Chunk{Empty: true, ErrKind: "BadRequestError", ErrText: "too long"}},
	{"chat", "no error", true, `{"type":"ping","message":"hello"}`, endpoint.Chunk{Empty: true}},
	{"responses", "whole, an error event", false, `{"type":"error","code":"rate_limit","message":"slow down","param":null,"sequence_number":0}`, endpoint.Chunk{Empty: true, ErrKind: "rate_limit", ErrText: "slow down"}},
	{"embeddings", "error at the top", false, `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, endpoint.Chunk{Empty: true, ErrKind: "BadRequestError", ErrText: "too long"}},
	{"cohere_rankings", "error at the top", false, `{"object":"error","message":"no reranker","code":404}`, endpoint.Chunk{Empty: true, ErrKind: "404", ErrText: "no reranker"}},
	{"kserve_v2_embeddings", "error without words", false, `{"type":"error"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: `{"type":"error"}`}},
	{"chat", "whole answer", false, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`, endpoint.Chunk{Text: "Hello", Finish: "stop", Usage: usage(3, 1, none, 4, none)}},
	{"chat", "whole answer with reasoning", false, `{"choices":[{"message":{"content":"Hello","reasoning_content":"hm"},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "Hello", Reasoning: "hm", Finish: "stop"}},
	{"chat", "content in parts", false, `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}}]}`, endpoint.Chunk{Text: "ab"}},
	{"completions", "text", true, `{"object":"text_completion","choices":[{"index":0,"text":" of","finish_reason":null}]}`, endpoint.Chunk{Text: " of"}},
	{"completions", "whole answer", false, `{"choices":[{"text":" of it","finish_reason":"length","logprobs":{"tokens":[" of"," it"],"token_logprobs":[-1,-2]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, endpoint.Chunk{Text: " of it", Tokens: 2, Finish: "length", Usage: usage(1, 2, none, none, none)}},
	{"completions", "done", true, `[DONE]`, endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"embeddings", "vectors", false, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]},{"embedding":"AAAAAAAAAAA="}],"usage":{"prompt_tokens":9,"total_tokens":9}}`, endpoint.Chunk{Items: 2, Dims: 2, Usage: usage(9, none, none, 9, none)}},
	{"responses", "delta", true, `{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":" the"}`, endpoint.Chunk{Text: " the", Part: 1<<20 + 1}},
	{"responses", "done repeats", true, `{"type":"response.output_text.done","output_index":1,"content_index":0,"text":" the of"}`, endpoint.Chunk{Text: " the of", Part: 1<<20 + 1, Final: true}},
	{"responses", "reasoning", true, `{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm", Part: 1}},
	{"responses", "arguments", true, `{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\""}`, endpoint.Chunk{Kind: record.Tool, Text: `{"a"`, Part: 2<<20 + 1}},
	{"responses", "created", true, `{"type":"response.created","response":{"id":"r","status":"in_progress","output":[],"usage":null,"error":null}}`, endpoint.Chunk{Empty: true, Part: 1}},
	{"responses", "completed", true, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":" the"}]}],"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":2},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":8}}}`, endpoint.Chunk{Kind: record.Done, Empty: true, Finish: "completed", Usage: usage(5, 3, 1, 8, 2)}},
	{"responses", "incomplete", true, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, endpoint.Chunk{Kind: record.Done, Empty: true, Finish: "max_output_tokens"}},
	{"responses", "failed", true, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"broken"}}}`, endpoint.Chunk{Empty: true, ErrKind: "server_error", ErrText: "broken", Part: 1}},
	{"responses", "error event", true, `{"type":"error","code":"rate_limit","message":"slow down","param":null}`, endpoint.Chunk{Empty: true, ErrKind: "rate_limit", ErrText: "slow down", Part: 1}},
	{"responses", "whole", false, `{"object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"a b"}]}],"usage":{"input_tokens":1,"output_tokens":3}}`, endpoint.Chunk{Text: "a b", Reasoning: "hm", Finish: "completed", Usage: usage(1, 3, none, none, none)}},
	{"responses", "whole, call", false, `{"status":"completed","output":[{"type":"function_call","name":"f","arguments":"{}"}]}`, endpoint.Chunk{Kind: record.Tool, Text: "f{}", Finish: "completed"}},
	{"responses", "whole, text alone", false, `{"output_text":"a"}`, endpoint.Chunk{Text: "a"}},
	{"cohere_rankings", "results", false, `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-1e-3}],"meta":{}}`, endpoint.Chunk{Items: 2, Places: 2}},
	{"hf_tei_rankings", "list", false, ` [{"index":1,"score":0.9}]`, endpoint.Chunk{Items: 1, Places: 2}},
	{"hf_tei_rankings", "error", false, `{"error":"too long","error_type":"Validation"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "too long"}},
	{"nim_rankings", "rankings", false, `{"rankings":[{"index":0,"logit":1}],"usage":{"prompt_tokens":3,"total_tokens":3}}`, endpoint.Chunk{Items: 1, Places: 1, Usage: usage(3, none, none, 3, none)}},
	{"messages", "start", true, `{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":1}}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(14, 1, none, none, 4)}},
	{"messages", "block start", true, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, endpoint.Chunk{Empty: true}},
	{"messages", "ping", true, `{"type": "ping"}`, endpoint.Chunk{Empty: true}},
	{"messages", "text", true, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, endpoint.Chunk{Text: "Hi"}},
	{"messages", "thinking", true, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"messages", "signature", true, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}`, endpoint.Chunk{Empty: true}},
	{"messages", "tool start", true, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, endpoint.Chunk{Kind: record.Tool, Text: "f"}},
	{"messages", "tool arguments", true, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`, endpoint.Chunk{Kind: record.Tool, Text: `{"a":`}},
	{"messages", "delta", true, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Finish: "end_turn", Usage: usage(none, 15, none, none, none)}},
	{"messages", "stop", true, `{"type":"message_stop"}`, endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"messages", "error", true, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, endpoint.Chunk{Empty: true, ErrKind: "overloaded_error", ErrText: "Overloaded"}},
	{"messages", "whole", false, `{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi"},{"type":"tool_use","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":9}}`, endpoint.Chunk{Kind: record.Tool, Text: `Hif{"a":1}`, Reasoning: "hm", Finish: "tool_use", Usage: usage(3, 9, none, none, none)}},
	{"nim_embeddings", "vectors", false, `{"data":[{"embedding":[1]}]}`, endpoint.Chunk{Items: 1, Dims: 1}},
	{"chat_embeddings", "vectors", false, `{"data":[{"embedding":[1,2]}]}`, endpoint.Chunk{Items: 1, Dims: 2}},
	{"huggingface_generate", "token", true, `{"index":1,"token":{"id":5,"text":" the","logprob":-1.5,"special":false},"generated_text":null,"details":null}`, endpoint.Chunk{Text: " the"}},
	{"huggingface_generate", "last token", true, `{"index":2,"token":{"id":5,"text":" of","logprob":-1.5,"special":false},"generated_text":" the of","details":{"finish_reason":"length","generated_tokens":2,"input_length":7,"seed":null}}`, endpoint.Chunk{Last: true, Text: " of", Finish: "length", Usage: usage(7, 2, none, none, none)}},
	{"huggingface_generate", "last token without details", true, `{"index":2,"token":{"id":5,"text":" of","logprob":-0.1,"special":false},"generated_text":" the of"}`, endpoint.Chunk{Last: true, Text: " of", Finish: "stop"}},
	{"huggingface_generate", "whole", false, `{"generated_text":" the of"}`, endpoint.Chunk{Text: " the of"}},
	{"huggingface_generate", "whole in a list", false, `[{"generated_text":" the of"}]`, endpoint.Chunk{Text: " the of"}},
	{"huggingface_generate", "error", true, `{"error":"Request failed during generation","error_type":"generation"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "Request failed during generation"}},
	{"llamacpp_completion", "content", true, `{"index":0,"content":" the","tokens":[5],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":4}`, endpoint.Chunk{Text: " the", Usage: usage(4, 1, none, none, none)}},
	{"llamacpp_completion", "end", true, `{"index":0,"content":"","stop":true,"stop_type":"limit","tokens_predicted":8,"tokens_evaluated":4,"tokens_cached":11,"timings":{"cache_n":3,"prompt_n":1,"prompt_ms":1.5,"predicted_n":8,"predicted_ms":20}}`, endpoint.Chunk{Last: true, Kind: record.Usage, Empty: true, Finish: "limit", Usage: usage(4, 8, none, none, 3), Timings: &claims.Timings{Queue: nan, Prefill: 1.5, Decode: 20, Total: nan, Inference: nan, PeakMemory: nan}}},
	{"llamacpp_completion", "whole", false, `{"content":"a b","stop":true,"stop_type":"eos"}`, endpoint.Chunk{Text: "a b", Finish: "eos"}},
	{"ollama_generate", "content", true, `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":" the","done":false}`, endpoint.Chunk{Text: " the"}},
	{"ollama_generate", "thinking", true, `{"model":"m","response":"","thinking":"hm","done":false}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"ollama_generate", "end", true, `{"model":"m","response":"","done":true,"done_reason":"length","context":[1,2],"total_duration":30000000,"load_duration":1,"prompt_eval_count":7,"prompt_eval_duration":1500000,"eval_count":2,"eval_duration":20000000}`, endpoint.Chunk{Kind: record.Done, Empty: true, Finish: "length", Usage: usage(7, 2, none, none, none), Timings: &claims.Timings{Queue: nan, Prefill: 1.5, Decode: 20, Total: 30, Inference: nan, PeakMemory: nan}}},
	{"ollama_generate", "end of an older server", true, `{"response":"","done":true}`, endpoint.Chunk{Kind: record.Done, Empty: true, Finish: "stop"}},
	{"ollama_generate", "whole", false, `{"response":"a b","thinking":"hm","done":true,"done_reason":"stop"}`, endpoint.Chunk{Text: "a b", Reasoning: "hm", Finish: "stop"}},
	{"ollama_generate", "error", true, `{"error":"model 'm' not found"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "model 'm' not found"}},
	{"solido_rag", "content", true, `{"content":"a"}`, endpoint.Chunk{Text: "a"}},
	{"solido_rag", "whole", false, `{"content":"a","sources":[{"file":"x"},{"file":"y"}]}`, endpoint.Chunk{Text: "a", Items: 2}},
	{"image_generation", "images", false, `{"created":1,"data":[{"b64_json":"AAAA"},{"url":"http://x/1.png"}],"usage":{"input_tokens":5,"output_tokens":200,"total_tokens":205}}`, endpoint.Chunk{Items: 2, Usage: usage(5, 200, none, 205, none)}},
	{"image_generation", "partial", true, `{"type":"image_generation.partial_image","partial_image_index":0,"b64_json":"` + strings.Repeat("A", 80) + `"}`, endpoint.Chunk{}},
	{"image_generation", "completed", true, `{"type":"image_generation.completed","b64_json":"` + strings.Repeat("A", 80) + `"}`, endpoint.Chunk{Items: 1, Finish: "completed"}},
	{"image_edit", "image", false, `{"data":[{"b64_json":"AAAA"}]}`, endpoint.Chunk{Items: 1}},
	{"image_edit", "error", false, `{"error":{"message":"no image","type":"invalid_request_error"}}`, endpoint.Chunk{Empty: true, ErrKind: "invalid_request_error", ErrText: "no image"}},
	{"image_retrieval", "boxes", false, `{"data":[{"index":0,"bounding_boxes":{}},{"index":1,"bounding_boxes":{}}]}`, endpoint.Chunk{Items: 2}},
	{"video_generation", "queued", false, `{"id":"v","object":"video","status":"queued","progress":0}`, endpoint.Chunk{Empty: true}},
	{"video_generation", "completed", false, `{"id":"v","status":"completed","error":null}`, endpoint.Chunk{Items: 1, Finish: "completed"}},
	{"video_generation", "SGLang's account", false, `{"id":"v","status":"completed","inference_time_s":1.25,"peak_memory_mb":2048.5}`, endpoint.Chunk{Items: 1, Finish: "completed", Timings: &claims.Timings{Queue: nan, Prefill: nan, Decode: nan, Total: nan, Inference: 1250, PeakMemory: 2048.5}}},
	{"video_generation", "failed", false, `{"id":"v","status":"failed","error":{"code":"oom","message":"out of memory"}}`, endpoint.Chunk{Empty: true, ErrKind: "oom", ErrText: "out of memory"}},
	{"audio_transcription", "text", false, `{"text":"hello there","usage":{"type":"duration","seconds":3}}`, endpoint.Chunk{Text: "hello there", Items: 1}},
	{"audio_transcription", "silence", false, `{"text":""}`, endpoint.Chunk{Items: 1}},
	{"kserve_chat", "content", true, `{"choices":[{"delta":{"content":"x"}}]}`, endpoint.Chunk{Text: "x"}},
	{"kserve_completions", "content", true, `{"choices":[{"text":"x"}]}`, endpoint.Chunk{Text: "x"}},
	{"kserve_embeddings", "vectors", false, `{"data":[{"embedding":[1]}]}`, endpoint.Chunk{Items: 1, Dims: 1}},
	{"kserve_v1_predict", "objects", false, `{"predictions":[{"output":"a"},{"output":" b"}]}`, endpoint.Chunk{Text: "a b", Items: 2}},
	{"kserve_v1_predict", "strings", false, `{"predictions":["a"," b"]}`, endpoint.Chunk{Text: "a b", Items: 2}},
	{"kserve_v1_predict", "error", false, `{"error":"model not ready"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "model not ready"}},
	{"kserve_v2_infer", "named tensor", false, `{"model_name":"m","outputs":[{"name":"score","datatype":"FP32","shape":[1],"data":[0.5]},{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":["a b"]}]}`, endpoint.Chunk{Text: "a b", Items: 1}},
	{"kserve_v2_infer", "only tensor", false, `{"outputs":[{"data":["a"],"name":"OUT","shape":[1]}]}`, endpoint.Chunk{Text: "a", Items: 1}},
	{"kserve_v1_predict", "vectors under the member", false, `{"predictions":[{"output":[1,2]}]}`, endpoint.Chunk{Items: 1}},
	{"kserve_v2_embeddings", "rows as lists", false, `{"outputs":[{"name":"embedding","datatype":"FP32","shape":[2,3],"data":[[1,2,3],[4,5,6]]}]}`, endpoint.Chunk{Items: 2, Dims: 3}},
	{"kserve_v2_embeddings", "vectors", false, `{"outputs":[{"name":"embedding","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]}`, endpoint.Chunk{Items: 2, Dims: 3}},
	{"template", "text", false, `{"text":"a","usage":{"output_tokens":1}}`, endpoint.Chunk{Text: "a", Usage: usage(none, 1, none, none, none)}},
	{"grpc", "message", true, `{"text":"a"}`, endpoint.Chunk{Text: "a"}},
	{"plugin", "before its program is known", false, `{"text":"a"}`, endpoint.Chunk{Text: "a"}},
	{"raw", "embeddings", false, `{"embeddings":[[1,2],[3,4]]}`, endpoint.Chunk{Items: 2, Thing: record.Vectors}},
	{"raw", "embedding", false, `{"embedding":[1,2]}`, endpoint.Chunk{Items: 1, Thing: record.Vectors}},
	{"raw", "embedding of several", false, `{"embedding":[[1,2],[3,4]]}`, endpoint.Chunk{Items: 2, Thing: record.Vectors}},
	{"raw", "a text as JSON", false, `"Hello \u0074here"`, endpoint.Chunk{Text: "Hello there"}},
	{"raw", "rankings", false, `{"results":[{"index":0,"relevance_score":0.5}]}`, endpoint.Chunk{Items: 1, Thing: record.Passages}},
	{"raw", "list of texts", false, `{"output":["a"," b"]}`, endpoint.Chunk{Text: "a b"}},
	{"raw", "choices", true, `{"choices":[{"delta":{"content":"x"}}]}`, endpoint.Chunk{Text: "x", Marked: true}},
	{"chat", "refusal", true, `{"choices":[{"index":0,"delta":{"refusal":"I can't"},"logprobs":{"content":null,"refusal":[{"token":"I"},{"token":" can't"}]}}]}`, endpoint.Chunk{Text: "I can't", Tokens: 2}},
	{"chat", "refusal, whole", false, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I can't"},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "I can't", Finish: "stop"}},
	{"chat", "sound", true, `{"choices":[{"delta":{"audio":{"id":"a","data":"AAAA"}}}]}`, endpoint.Chunk{}},
	{"chat", "transcript of sound", true, `{"choices":[{"delta":{"audio":{"transcript":"Hi"}}}]}`, endpoint.Chunk{Text: "Hi"}},
	{"chat", "sound, whole", false, `{"choices":[{"message":{"content":null,"audio":{"id":"a","expires_at":1,"data":"AAAA","transcript":"Hi"}},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "Hi", Finish: "stop"}},
	{"chat", "picture", false, `{"choices":[{"message":{"content":"","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}}]}`, endpoint.Chunk{}},
	{"chat", "no sound, no picture", true, `{"choices":[{"delta":{"audio":null,"images":[],"refusal":null}}]}`, endpoint.Chunk{Empty: true}},
	{"chat", "Groq's usage", true, `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":5,"completion_tokens":2,"queue_time":0.5}}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Finish: "stop", Usage: usage(5, 2, none, none, none), Timings: &claims.Timings{Queue: 500, Prefill: nan, Decode: nan, Total: nan, Inference: nan, PeakMemory: nan}}},
	{"responses", "llama.cpp's timings", true, `{"type":"response.completed","response":{"status":"completed"},"timings":{"prompt_ms":2,"predicted_ms":3}}`, endpoint.Chunk{Kind: record.Done, Empty: true, Finish: "completed", Timings: &claims.Timings{Queue: nan, Prefill: 2, Decode: 3, Total: nan, Inference: nan, PeakMemory: nan}}},
	{"responses", "whole, with timings", false, `{"status":"completed","output_text":"a","timings":{"prompt_ms":2}}`, endpoint.Chunk{Text: "a", Finish: "completed", Timings: &claims.Timings{Queue: nan, Prefill: 2, Decode: nan, Total: nan, Inference: nan, PeakMemory: nan}}},
	{"chat", "another answer", true, `{"choices":[{"index":2,"delta":{"content":"b"}},{"index":1,"delta":{"content":"c"}}]}`, endpoint.Chunk{Text: "b", Choice: 2}},
	{"raw", "plain text", false, "Hello there\n", endpoint.Chunk{Text: "Hello there"}},
	{"raw", "done", true, "[DONE]", endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"chat", "llama.cpp's timings", true, `{"choices":[],"timings":{"prompt_ms":2,"predicted_ms":3}}`, endpoint.Chunk{Empty: true, Timings: &claims.Timings{Queue: nan, Prefill: 2, Decode: 3, Total: nan, Inference: nan, PeakMemory: nan}}},
	{"chat", "times in usage, in seconds", true, `{"choices":[],"usage":{"queue_time":0.5,"prompt_tokens":5,"prompt_time":0.25,"completion_time":1,"total_time":1.75}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(5, none, none, none, none), Timings: &claims.Timings{Queue: 500, Prefill: 250, Decode: 1000, Total: 1750, Inference: nan, PeakMemory: nan}}},
	{"embeddings", "error", false, `{"error":{"message":"no such model","code":"model_not_found"}}`, endpoint.Chunk{Empty: true, ErrKind: "model_not_found", ErrText: "no such model"}},
}

func TestRead(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range readCases {
		covered[c.typ] = true
		want := c.want
		if want.Usage == (claims.Usage{}) {
			want.Usage = claims.NoUsage
		}
		got, err := lookup(t, c.typ).Read([]byte(c.data), c.stream)
		if err != nil {
			t.Errorf("%s, %s: %v", c.typ, c.name, err)
			continue
		}
		got.Model = "" // see TestModelOfAnAnswer
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.typ, c.name, diff)
		}
	}
	for _, spec := range endpoint.Catalogue() {
		if !covered[spec.Type] {
			t.Errorf("endpoint type %s has no reading case", spec.Type)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, data string
		stream    bool
		want      string
	}{
		{"chat", "", false, "not a JSON object: the answer is empty"},
		{"chat", "<!DOCTYPE html>\n<title>502", false, `not a JSON object: the answer begins "<!DOCTYPE html>\n<title>502"`},
		{"raw", "[DONE]", false, `malformed JSON: the answer begins "[DONE]"`},
		{"chat", "[DONE]", false, `not a JSON object: the answer begins "[DONE]"`},
		{"chat", `{"choices":[{"delta":{"content":"ab`, true, `malformed JSON: the answer begins "{\"choices\":[{\"delta\":{\"content\":\"ab"`},
		{"chat", `{"choices":[]} x`, true, `malformed JSON: the answer begins "{\"choices\":[]} x"`},
		{"chat", `{"status":"ok"}`, false, `no "choices": the answer begins "{\"status\":\"ok\"}"`},
		{"chat", `{"choices":[]}`, false, `no "choices": the answer begins "{\"choices\":[]}"`},
		{"embeddings", `{"data":[]}`, false, `no vectors in "data": the answer begins "{\"data\":[]}"`},
		{"embeddings", `{"data":[{"embedding":[1]},{"embedding":null}]}`, false, `no vectors in "data": the answer begins "{\"data\":[{\"embedding\":[1]},{\"embedding\":null}]}"`},
		{"embeddings", `{"data":[{"embedding":[1,2]},{"embedding":[1]}]}`, false, `vectors of different lengths in "data": the answer begins "{\"data\":[{\"embedding\":[1,2]},{\"embedding\":[1]}]}"`},
		{"embeddings", `{"data":[{"embedding":[]}]}`, false, `no vectors in "data": the answer begins "{\"data\":[{\"embedding\":[]}]}"`},
		{"embeddings", `{"data":[{"embedding":[0.1,null,0.3]}]}`, false, `a vector in "data" holds something that is not a number: the answer begins "{\"data\":[{\"embedding\":[0.1,null,0.3]}]}"`},
		{"embeddings", `{"data":[{"embedding":"@@@@"}]}`, false, `a vector in "data" is a text that is not base64: the answer begins "{\"data\":[{\"embedding\":\"@@@@\"}]}"`},
		{"embeddings", `{"data":[{"embedding":"AAAAAAA="}]}`, false, `a vector in "data" is base64 of 5 bytes, which are no numbers of 4 bytes each: the answer begins "{\"data\":[{\"embedding\":\"AAAAAAA=\"}]}"`},
		{"kserve_v2_embeddings", `{"outputs":[{"name":"embedding","shape":[1,8],"data":[1,2,3,4]}]}`, false, `tensor "embedding" has 4 numbers, by its shape 8: the answer begins "{\"outputs\":[{\"name\":\"embedding\",\"shape\":[1,8],\"data\":[1,2,3,4]}]}"`},
		{"kserve_v2_embeddings", `{"outputs":[{"name":"embedding","shape":[2],"data":[1,null]}]}`, false, `tensor "embedding" holds something that is not a number: the answer begins "{\"outputs\":[{\"name\":\"embedding\",\"shape\":[2],\"data\":[1,null]}]}"`},
		{"kserve_v2_infer", `{"outputs":[{"name":"a","data":["x"]},{"name":"b","data":["y"]}]}`, false, `no tensor "text_output" but "a", "b" (extra input v2_output_name names it): the answer begins "{\"outputs\":[{\"name\":\"a\",\"data\":[\"x\"]},{\"name\":\"b\",\"data\":[\"y\"]}]}"`},
		{"kserve_v1_predict", `{"predictions":[{"output":"a"},{"text":"b"}]}`, false, `no "output" in a prediction (extra input v1_output_field names the member): the answer begins "{\"predictions\":[{\"output\":\"a\"},{\"text\":\"b\"}]}"`},
		{"cohere_rankings", `{"results":[{"index":-1,"relevance_score":1},{"index":0,"relevance_score":1}]}`, false, `a score is for index -1: the answer begins "{\"results\":[{\"index\":-1,\"relevance_score\":1},{\"index\":0,\"relevance_score\":1}]}"`},
		{"kserve_v2_embeddings", `{"outputs":[{"name":"embedding","datatype":"BYTES","shape":[1],"data":["a"]}]}`, false, `tensor "embedding" holds texts, and vectors were asked for: the answer begins "{\"outputs\":[{\"name\":\"embedding\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"a\"]}]}"`},
		{"cohere_rankings", `{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}`, false, `one passage has several scores: the answer begins "{\"results\":[{\"index\":0,\"relevance_score\":1},{\"index\":0,\"relevance_score\":1}]}"`},
		{"image_generation", `{"data":[{"b64_json":"!!!! not base64"}]}`, false, `a "b64_json" that is not base64: the answer begins "{\"data\":[{\"b64_json\":\"!!!! not base64\"}]}"`},
		{"chat", strings.Repeat("x", 500), true, `not a JSON object: the answer begins "` + strings.Repeat("x", 80) + `"`},
	} {
		got, err := lookup(t, c.typ).Read([]byte(c.data), c.stream)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: Read(%q) = %+v, %v\nwant %s", c.typ, c.data, got, err, c.want)
		}
	}
}

func TestLongErrorIsCut(t *testing.T) {
	t.Parallel()
	c, err := lookup(t, "chat").Read([]byte(`{"error":{"message":"`+strings.Repeat("é", 2000)+`"}}`), true)
	if err != nil || c.ErrText != strings.Repeat("é", 512) {
		t.Errorf("Read = %+v, %v; want 512 times é", c, err)
	}
}

func TestHasContentAgreesWithRead(t *testing.T) {
	t.Parallel()
	for _, c := range readCases {
		if !c.stream || strings.Contains(c.data, `\u0073`) || c.want.Final {
			continue
		}
		spec := lookup(t, c.typ)
		chunk, err := spec.Read([]byte(c.data), c.stream)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := spec.HasContent([]byte(c.data)), !chunk.Empty; got != want {
			t.Errorf("%s, %s: HasContent = %v, want %v", c.typ, c.name, got, want)
		}
	}
}

// FuzzRead checks every type against encoding/json: Read accepts no object that
// is not valid JSON, and what it reads as content is what is there.
func FuzzRead(f *testing.F) {
	for _, c := range readCases {
		f.Add([]byte(c.data), c.stream)
	}
	f.Fuzz(func(t *testing.T, data []byte, stream bool) {
		for _, spec := range endpoint.Catalogue() {
			spec.HasContent(data)
			c, err := spec.Read(data, stream)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error of several lines: %v", spec.Type, err)
				}
				continue
			}
			if c.Kind == record.Done {
				continue
			}
			anyText := slices.Contains([]string{"raw", "template", "plugin", "grpc"}, spec.Type)
			if d := bytes.TrimSpace(data); !json.Valid(data) && (!anyText || d[0] == '{' || d[0] == '[') {
				t.Errorf("%s: Read accepts what is not JSON: %q", spec.Type, data)
			}
			if c.Empty && (c.Text != "" || c.Reasoning != "") || len(c.ErrText) > 1024 {
				t.Errorf("%s: Read(%q) = %+v", spec.Type, data, c)
			}
		}
		compareContent(t, data)
	})
}

// compareContent reads an event by encoding/json, where it has no repeated or
// differently spelt keys, and compares.
func compareContent(t *testing.T, data []byte) {
	var v struct {
		Choices []struct{ Delta struct{ Content *string } }
	}
	if strings.Count(string(data), `"choices"`) != 1 || strings.Count(string(data), `"content"`) != 1 ||
		strings.Count(string(data), `"delta"`) != 1 || strings.Contains(string(data), `\`) ||
		strings.Contains(string(data), `_`) ||
		strings.Contains(string(data), `text`) || strings.Contains(string(data), `message`) ||
		strings.ContainsAny(string(data), "CDſ") ||
		json.Unmarshal(data, &v) != nil || len(v.Choices) == 0 || v.Choices[0].Delta.Content == nil {
		return
	}
	c, err := lookup(t, "chat").Read(data, true)
	if err != nil {
		t.Fatalf("Read(%q): %v", data, err)
	}
	if want := *v.Choices[0].Delta.Content; c.Text != want && want != "" {
		t.Errorf("Read(%q).Text = %q, want %q", data, c.Text, want)
	}
}

func BenchmarkRead(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-8f3b1c2d","object":"chat.completion.chunk","created":1763712345,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	spec := lookup(b, "chat")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := spec.Read(data, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHasContent(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-8f3b1c2d","object":"chat.completion.chunk","created":1763712345,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`)
	spec := lookup(b, "chat")
	b.ReportAllocs()
	for b.Loop() {
		if spec.HasContent(data) {
			b.Fatal("role chunk has content")
		}
	}
}

// An answer must have as many vectors, or scores, as the request had inputs,
// where nothing among the extra inputs asks for fewer.
func TestMissing(t *testing.T) {
	t.Parallel()
	texts := &dataset.Turn{Texts: []string{"a", "b"}}
	ranking := &dataset.Turn{Query: "q", Passages: []string{"a", "b", "c"}}
	for _, c := range []struct {
		typ   string
		turn  *dataset.Turn
		extra schema.Members
		items int64
		place int64
		want  string
	}{
		{"embeddings", texts, nil, 2, 0, ""},
		{"embeddings", texts, nil, 1, 0, "the answer has 1 vector, the request asked for 2"},
		{"embeddings", texts, schema.MembersOf("input", []any{"x"}), 1, 0, ""},
		{"nim_embeddings", &dataset.Turn{Images: make([]dataset.Media, 3)}, nil, 2, 0, "the answer has 2 vectors, the request asked for 3"},
		{"cohere_rankings", ranking, nil, 3, 3, ""},
		{"cohere_rankings", ranking, nil, 4, 4, "the answer has 4 passages, the request asked for 3"},
		{"cohere_rankings", ranking, schema.MembersOf("top_n", 2), 2, 3, ""},
		{"cohere_rankings", ranking, schema.MembersOf("top_n", 2), 1, 3, "the answer has 1 passage, the request asked for 2"},
		{"cohere_rankings", ranking, schema.MembersOf("top_n", json.Number("9")), 3, 3, ""},
		{"cohere_rankings", ranking, schema.MembersOf("top_n", 0), 3, 3, ""},
		{"cohere_rankings", ranking, nil, 3, 53, "the answer has a score for index 52, the request has 3 passages"},
		{"cohere_rankings", ranking, schema.MembersOf("documents", []any{"x"}), 1, 53, ""},
		{"nim_rankings", &dataset.Turn{Query: "q", Passages: []string{"a"}, Extra: schema.MembersOf("top_k", 1)}, nil, 9, 0, "the answer has 9 passages, the request asked for 1"},
		{"hf_tei_rankings", ranking, nil, 2, 2, "the answer has 2 passages, the request asked for 3"},
		{"embeddings", &dataset.Turn{Raw: []byte(`{}`)}, nil, 5, 0, ""},
		{"chat", texts, nil, 0, 0, ""},
	} {
		if got := lookup(t, c.typ).Missing(c.turn, c.extra, c.items, c.place); got != c.want {
			t.Errorf("%s: %q, want %q", c.typ, got, c.want)
		}
	}
}

// The settings of an API change how its answers are read.
func TestReadAsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ   string
		extra schema.Members
		data  string
		want  string // of the error
		dims  int64
	}{
		{"kserve_v1_predict", schema.MembersOf("v1_output_field", "nothing"), `{"predictions":[{"output":"Hello"}]}`, `no "nothing" in a prediction`, 0},
		{"kserve_v2_infer", schema.MembersOf("v2_output_name", "zzz"), `{"outputs":[{"name":"text_output","data":["a"]}]}`, `no tensor "zzz" but "text_output"`, 0},
		{"kserve_v2_infer", schema.MembersOf("v2_output_name", "b"), `{"outputs":[{"name":"a","data":["x"]},{"name":"b","data":["y"]}]}`, "", 0},
		{"embeddings", schema.MembersOf("embed_dtype", "float16"), `{"data":[{"embedding":"AAAAAAAA"}]}`, "", 3},
		{"embeddings", schema.MembersOf("output_dtype", "int8"), `{"data":[{"embedding":"AAAAAAA="}]}`, "", 5},
		{"embeddings", schema.MembersOf("embed_dtype", "float32"), `{"data":[{"embedding":"AAAAAAAA"}]}`, "no numbers of 4 bytes", 0},
	} {
		spec, err := endpoint.Open(&schema.Endpoint{Type: c.typ, Extra: c.extra})
		if err != nil {
			t.Fatal(err)
		}
		got, err := spec.Read([]byte(c.data), false)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			got.Dims != c.dims {
			t.Errorf("%s %v: Read(%s) = %+v, %v; want …%s…, %d dimensions", c.typ, c.extra, c.data, got, err, c.want,
				c.dims)
		}
	}
}

// An answer, or the event of it that does, names the model that made it.
func TestModelOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ    string
		stream bool
		data   string
		want   string
	}{
		{"chat", true, `{"model":"m-1","choices":[{"delta":{"content":"a"}}]}`, "m-1"},
		{"chat", false, `{"model":"m-1","choices":[{"message":{"content":"a"}}]}`, "m-1"},
		{"chat", true, `{"model":null,"choices":[{"delta":{"content":"a"}}]}`, ""},
		{"completions", false, `{"choices":[{"text":"a"}],"model":"m-1"}`, "m-1"},
		{"messages", true, `{"type":"message_start","message":{"id":"x","model":"m-1","usage":{"input_tokens":1}}}`, "m-1"},
		{"messages", false, `{"type":"message","model":"m-1","content":[{"type":"text","text":"a"}]}`, "m-1"},
		{"responses", true, `{"type":"response.created","response":{"id":"x","model":"m-1"}}`, "m-1"},
		{"responses", false, `{"object":"response","model":"m-1","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, "m-1"},
		{"embeddings", false, `{"model":"m-1","data":[{"embedding":[1,2]}]}`, "m-1"},
		{"llamacpp_completion", true, `{"content":"","stop":true,"model":"m-1"}`, "m-1"},
		{"ollama_generate", true, `{"model":"m-1","response":"a","done":false}`, "m-1"},
	} {
		if got, err := lookup(t, c.typ).Read([]byte(c.data), c.stream); err != nil || got.Model != c.want {
			t.Errorf("%s, %s: model %q, %v; want %q", c.typ, c.data, got.Model, err, c.want)
		}
	}
}
