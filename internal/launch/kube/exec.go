package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"aiperf.dev/aiperf/internal/diag"
)

// The channels of a connection to a command, as in v4.channel.k8s.io.
const (
	channelOut    = 1
	channelErr    = 2
	channelStatus = 3
)

// exec runs a command in a container, and writes what it prints.
func (c *Client) exec(ctx context.Context, pod, container string, command []string, out io.Writer) error {
	u := *c.base
	u.Path += c.at("Pod") + "/" + pod + "/exec"
	u.RawQuery = url.Values{
		"container": {container}, "command": command, "stdout": {"true"}, "stderr": {"true"},
	}.Encode()
	header := http.Header{"User-Agent": {"aiperf"}}
	if err := c.auth.sign(ctx, header); err != nil {
		return err
	}
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: header, Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"},
	})
	if err != nil {
		if resp != nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return refused(resp, c.base.Host)
		}
		return &diag.Error{Code: diag.Failed, Message: "the cluster at " + c.base.Host + ": " + err.Error(), Cause: err}
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // it is written on as it comes
	var said strings.Builder
	for {
		_, b, err := conn.Read(ctx)
		switch {
		case err != nil:
			return &diag.Error{
				Code: diag.Failed, Message: "the connection to " + pod + " ended in the middle: " + err.Error(), Cause: err,
				Hint: "the same command again begins anew",
			}
		case len(b) == 0:
		case b[0] == channelOut:
			if _, err := out.Write(b[1:]); err != nil {
				return err
			}
		case b[0] == channelErr:
			if said.Len() < 1<<12 {
				said.Write(b[1:])
			}
		case b[0] == channelStatus:
			var s status
			if err := json.Unmarshal(b[1:], &s); err == nil && s.Status == "Success" {
				return nil
			}
			line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
			said := strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", pod, s.Message, line), ": ")
			return &diag.Error{Code: diag.Failed, Message: said}
		}
	}
}
