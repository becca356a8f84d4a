package kxtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Space has [Start] return a server with what [Main] was given, for this test alone. When the test ends, the server is
// brought back to that state and serves the next test that asks for a space: that takes milliseconds, where a server
// with many definitions takes a second to start.
//
// A test may do with it whatever it does with a server of its own: faults, snapshots, forks and restarts, and [CRDs],
// [Webhooks] and [Objects] beside Space, which the next test does not see. Tests that run at once each have a server,
// so there are as many as tests ran in parallel. No test waits for another. After a [Server.Restart], and when a
// request of the test is still under way at its end, the server is not used again.
//
// A client that runs on after its test would write into the next one's: stop it before.
func Space() Option {
	return func(o *options) error {
		o.space = true
		return nil
	}
}

// space is a server that is brought back to its clean state after each test.
type space struct {
	*instance
	// clean is the name of the snapshot of that state, and webhook what Main gave.
	clean   string
	webhook Webhook
}

// startSpace gives a space to a test, with what the test wants beside.
func startSpace(t testing.TB, o *options) *Server {
	t.Helper()
	is, err := common.space()
	if err != nil {
		t.Fatalf("kxtest: %v", err)
	}
	s := is.serve(t, false)
	s.space = is
	if err := s.install(o); err != nil {
		s.fatal(t, err)
	}
	s.Webhook = s.webhook
	return s
}

// space returns a space that is idle, or starts one.
func (s *shared) space() (*space, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		is := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return is, nil
	}
	offered, opts := s.offered, s.options
	s.mu.Unlock()
	if !offered {
		return nil, errors.New("there are no servers for spaces: TestMain has to call kxtest.Main")
	}
	o, err := optionsOf(opts)
	if err != nil {
		return nil, err
	}
	i, err := newInstance(o)
	if err != nil {
		return nil, err
	}
	clean, err := i.note(0)
	if err != nil {
		return nil, errors.Join(err, i.stop())
	}
	return &space{i, clean.Metadata.Name, i.webhook}, nil
}

// giveBack brings a space back to its clean state for the next test. It fails if the state is not certain to be that.
func (s *shared) giveBack(is *space) error {
	is.release()
	if err := is.quiet(); err != nil {
		return err
	}
	if err := is.rewind(is.clean); err != nil {
		return err
	}
	is.instance.webhook = is.webhook
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, is)
	return nil
}

// quietMost limits the wait for the end of a test's requests.
const quietMost = 20 * time.Second

// quiet waits until no request of the test is under way. The server may note the end of a request after its client has
// the answer. The server's own writes do not outlive a rewind.
func (is *space) quiet() error {
	ctx, cancel := context.WithTimeout(context.Background(), quietMost)
	defer cancel()
	for {
		held, err := is.underWay(ctx, notOfServer)
		switch {
		case err != nil:
			return fmt.Errorf("look for requests that are under way: %w", err)
		case held == "":
			return nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return fmt.Errorf("requests are under way: %s", held)
		}
	}
}

// stop stops the servers that are left at the end of all tests.
func (s *shared) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.instance != nil {
		errs = append(errs, s.instance.stop())
	}
	for _, is := range s.idle {
		errs = append(errs, is.stop())
	}
	return errors.Join(errs...)
}
