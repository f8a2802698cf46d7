// Package nearby finds the inference servers of this machine: in go the ports on
// which they usually listen, out come those that list their models there. It asks
// loopback only, without a proxy, and sends nothing but the question.
package nearby

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/words"
)

// Place is a port and the servers that listen there unless they are told
// otherwise.
type Place struct {
	Port    int
	Usually string
}

// Places are the ports that are tried, the likeliest first.
func Places() []Place {
	return []Place{
		{8000, "vLLM, TensorRT-LLM or Dynamo"},
		{30000, "SGLang"},
		{8080, "llama.cpp or TGI"},
		{11434, "Ollama"},
		{1234, "LM Studio"},
		{23333, "LMDeploy"},
	}
}

// Server is one that answered.
type Server struct {
	Place
	Models []string // as it lists them, made harmless; one at least
}

// URL is where it is.
func (s Server) URL() string { return "http://localhost:" + strconv.Itoa(s.Port) }

const (
	patience   = 700 * time.Millisecond // one that takes longer to list its models is busy with something else
	listMost   = 1 << 20                // bytes of a list
	modelsMost = 20                     // of one server
	nameMost   = 200                    // characters of a model's name
)

// Find asks all places at once and gives the servers in the order of the places.
// What answers otherwise than with a list of models is none.
func Find(ctx context.Context, places []Place) []Server {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	client := &http.Client{
		Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
		// it may lead elsewhere
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	found := make([][]string, len(places))
	var wait sync.WaitGroup
	for i, p := range places {
		wait.Go(func() { found[i] = models(ctx, client, p.Port) })
	}
	wait.Wait()
	var out []Server
	for i, names := range found {
		if len(names) > 0 {
			out = append(out, Server{places[i], names})
		}
	}
	return out
}

// models asks for the list of OpenAI's API. localhost is asked at both of its
// addresses, as everybody who is told the URL will.
func models(ctx context.Context, client *http.Client, port int) (names []string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort("localhost", strconv.Itoa(port))+"/v1/models", nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct{ ID string }
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, listMost)).Decode(&list) != nil {
		return nil
	}
	for _, m := range list.Data {
		// A name that is not what the server wrote would not find the model.
		if name := words.Clip(m.ID, nameMost); name != "" && name == m.ID && len(names) < modelsMost {
			names = append(names, name)
		}
	}
	return names
}
