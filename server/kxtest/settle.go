package kxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	// restFor is how long a client must not write to be at rest, and restLooks how often the test must have looked by
	// then: on a busy machine, that takes longer.
	restFor   = time.Second
	restLooks = 50
	// A client does not settle if it writes one object restlessOne times, or writes restlessAll times in all. One that
	// settles needs fewer writes, also on a slow machine.
	restlessOne = 30
	restlessAll = 1000
	// restMost limits the wait for a single write that is under way.
	restMost = time.Minute
)

// writeVerbs are the verbs of writes.
const writeVerbs = "create,update,patch,delete,deletecollection"

// writesOf is the filter of the writes that match a filter. Leases are left out, since clients renew them by the clock,
// and so are questions about tokens and rights, which store nothing.
func writesOf(filter string) string {
	return both(filter, "verb:"+writeVerbs+" !resource:leases "+
		"!group:authentication.k8s.io,authorization.k8s.io")
}

// MustSettle waits until the clients of a filter have written nothing for about a second. It fails the test if they
// write on and on. The number of writes decides that, so a slow machine does no harm. Refused writes count, and so do
// those that change nothing. Leases do not. Wait for the clients' work with [Server.MustSee] first.
//
// Then it calls each of the functions, and fails the test if a write follows. A function makes the clients look again
// without giving them work: it touches an object, ends a watch, or starts the manager again. If it touches an object,
// it waits until the event has reached the clients, with [Server.MustSee] and the field delivered.
func (s *Server) MustSettle(t testing.TB, filter string, again ...func()) {
	t.Helper()
	s.MustSee(t, filter)
	before, err := s.rest(filter, 0)
	if err != nil {
		s.fatal(t, err)
	}
	for i, act := range again {
		act()
		all, err := s.rest(filter, before)
		if err != nil {
			s.fatal(t, err)
		}
		if more := all - before; more > 0 {
			s.fatal(t, fmt.Errorf("%q had settled, and wrote again after function %d:%s", filter, i+1, s.latest(filter, more)))
		}
	}
}

// latest lists the last n writes.
func (s *Server) latest(filter string, n int) string {
	all, err := s.find(writesOf(filter))
	if err != nil {
		return " " + err.Error()
	}
	return linesOf(all[max(0, len(all)-n):])
}

// linesOf is the first requests, each on a line, and the number of the others.
func linesOf(all []Journey) string {
	var lines []string
	for _, j := range all[:min(len(all), shownMost)] {
		lines = append(lines, "\n  "+j.String())
	}
	if more := len(all) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("\n  and %d more", more))
	}
	return strings.Join(lines, "")
}

// rest waits until there are no more writes, and returns their number since the start of the test. The first known ones
// are older than the wait, and may be any number.
func (s *Server) rest(filter string, known int) (int, error) {
	quiet, looks, last := time.Now(), 0, -1
	for {
		all, err := s.settled(writesOf(filter))
		if err != nil {
			return 0, err
		}
		running := 0
		for _, j := range all {
			if j.Code == 0 {
				running++
			}
		}
		since := time.Since(quiet)
		switch {
		case len(all) != last:
			quiet, looks, last = time.Now(), 0, len(all)
			if err := restless(all[min(known, len(all)):]); err != nil {
				return 0, fmt.Errorf("%q does not settle: %w", filter, err)
			}
		case running > 0 && since > restMost:
			return 0, fmt.Errorf("%q does not settle: %d writes have no answer after %v:%s", filter, running, restMost, linesOf(all))
		case running == 0 && since >= restFor && looks >= restLooks:
			return len(all), nil
		}
		looks++
		time.Sleep(lookEvery)
	}
}

// restless finds an object with too many writes, or too many of all.
func restless(writes []Journey) error {
	number := map[string]int{}
	for _, j := range writes {
		path, _, _ := strings.Cut(j.URI, "?")
		if j.Verb == "create" {
			path += " " + j.Name
		}
		if number[path]++; number[path] >= restlessOne {
			return fmt.Errorf("%d writes of one object:%s", number[path], linesOf(writes[len(writes)-min(len(writes), shownMost):]))
		}
	}
	if len(writes) >= restlessAll {
		return fmt.Errorf("%d writes:%s", len(writes), linesOf(writes))
	}
	return nil
}
