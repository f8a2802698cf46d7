package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/mockserver"
)

// servers starts the built-in server for URLs that ask for it (mock:…), one
// child process per distinct URL, and keeps it for the whole plan: all cells
// and trials of one URL meet the same server, as they would a real one.
type servers struct {
	exe      string // this program
	children map[string]*mockserver.Child
}

// resolve is url with mock: replaced by the address of its child.
// It writes its log of true times into dir if the URL asks for that (log=true).
func (s *servers) resolve(ctx context.Context, url, dir string) (string, error) {
	if !mockserver.Named(url) {
		return url, nil
	}
	spoken := func(c *mockserver.Child) string {
		if strings.HasPrefix(url, overGRPC) {
			return overGRPC + strings.TrimPrefix(c.URL, "http://")
		}
		return c.URL
	}
	if c := s.children[url]; c != nil {
		return spoken(c), nil
	}
	cfg, err := mockserver.ParseURL(url)
	if err != nil {
		return "", err
	}
	log := ""
	if cfg.Keep {
		log = unusedLog(dir)
	}
	c, err := mockserver.Spawn(ctx, s.exe, url, log)
	if err != nil {
		return "", err
	}
	if s.children == nil {
		s.children = map[string]*mockserver.Child{}
	}
	s.children[url] = c
	return spoken(c), nil
}

// stop ends all children and waits for them.
func (s *servers) stop() error {
	var errs []error
	for _, c := range s.children {
		errs = append(errs, c.Stop())
	}
	s.children = nil
	return errors.Join(errs...)
}

// unusedLog is the first of server_log_1.jsonl, server_log_2.jsonl, … that
// does not exist: a resumed plan starts its servers anew.
func unusedLog(dir string) string {
	for i := 1; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("server_log_%d.jsonl", i))
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

// overGRPC is before the address of a server that is spoken to by gRPC, the
// built-in one included.
const overGRPC = "grpc://"
