package kxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Restart kills the server's process, and starts another one with the same data at the same address. All writes that
// were answered are there, with their versions. Connections break, requests are refused meanwhile, and watches have to
// begin again. Users, kubeconfigs and webhooks stay as they are.
//
// What the server has in memory is gone: its faults end as by [Injected.Lift], snapshots can't be used any more, and
// [Server.Journeys] and all that counts requests begin anew. Take a [Server.Bill] before, if it is wanted. Other
// methods of the server wait until Restart has returned.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if s.process.serve != nil {
		s.fatal(t, errors.New("a server in the test's process can't be killed: Start without InProcess"))
	}
	if s.shared {
		s.fatal(t, errors.New("a restart breaks the connections of other tests: Start without Shared"))
	}
	if err := s.restart(context.Background(), t); err != nil {
		s.fatal(t, err)
	}
}

// restartAt restarts the server when a fault delays a request, which is not carried out then. The function that it
// returns gives up, and returns the request; it is empty if there was no restart.
func (s *Server) restartAt(t testing.TB, in *Injected) func() string {
	ctx, cancel := context.WithCancel(context.Background())
	request, done := "", make(chan struct{})
	go func() {
		defer close(done)
		now, err := in.status()
		for ; err == nil && now.Hits == 0; now, err = in.status() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(lookEvery):
			}
		}
		if err == nil {
			hit := s.hitBy(in, now)
			in.forget() // to delete it would let the request go on
			if err = s.restart(ctx, t); err == nil {
				request = hit
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("kxtest: %v", err)
		}
	}()
	return func() string {
		cancel()
		<-done
		return request
	}
}

// restart ends all faults, and replaces the process. Requests of this package wait meanwhile. Until then they begin as
// ever, since those that are under way may wait for others.
func (s *Server) restart(ctx context.Context, t testing.TB) (err error) {
	for _, fault := range s.allFaults() {
		fault.end(t)
	}
	for !s.gate.TryLock() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	defer s.gate.Unlock()
	p := s.process
	old, err := p.data()
	if err != nil {
		return err
	}
	p.kill()
	// Its certificates are made anew by the same authority, which clients believe.
	address := strings.TrimPrefix(p.admin.Host, "https://")
	if err := p.start(append([]string{"--from=" + old, "--listen=" + address}, s.flags...)); err != nil {
		return fmt.Errorf("restart the server: %w", err)
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("remove the data of the server that was killed: %w", err)
	}
	s.since = 0 // a client may have been faster than the next line
	s.begin, err = s.client.mark()
	return err
}
