package runner

import (
	"context"
	"errors"
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
func (s *servers) resolve(ctx context.Context, url, logPath string) (string, error) {
	if !IsMock(url) {
		return url, nil
	}
	if c := s.children[url]; c != nil {
		return c.URL, nil
	}
	c, err := mockserver.Spawn(ctx, s.exe, url, logPath)
	if err != nil {
		return "", err
	}
	if s.children == nil {
		s.children = map[string]*mockserver.Child{}
	}
	s.children[url] = c
	return c.URL, nil
}

// stop ends all children and waits for them.
func (s *servers) stop() error {
	var errs []error
	for _, c := range s.children {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// IsMock tells whether url means the built-in server.
func IsMock(url string) bool {
	return strings.HasPrefix(strings.TrimPrefix(url, "http://"), "mock:")
}
