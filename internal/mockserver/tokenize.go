package mockserver

import (
	"encoding/json"
	"net/http"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// tokenize answers vLLM's /tokenize: the tokens of a prompt, or of the texts of
// messages. No template of a chat is added.
func (s *Server) tokenize(raw []byte) []byte {
	if len(raw) > maxBody {
		return failure(http.StatusRequestEntityTooLarge, "the body is larger than 64 MiB", "invalid_request_error", 0)
	}
	call, err := (&endpoint.Served{Texts: []string{"prompt", "messages"}}).Parse(raw, "application/json")
	if err != nil {
		return failure(http.StatusBadRequest, err.Error(), "invalid_request_error", 0)
	}
	if call.Fields["prompt"] == nil && call.Fields["messages"] == nil {
		return failure(http.StatusBadRequest, "prompt or messages: field required", "invalid_request_error", 0)
	}
	ids := s.tok.Encode([]int{}, call.Text)
	b, err := json.Marshal(struct {
		Count       int   `json:"count"`
		MaxModelLen int   `json:"max_model_len"`
		Tokens      []int `json:"tokens"`
	}{len(ids), endpoint.MaxTokens, ids})
	if err != nil {
		panic(err) // integers only
	}
	return response(http.StatusOK, "application/json", nil, b)
}
