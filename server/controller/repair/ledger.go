package repair

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

// ledger holds the taken node ports, and the ports of services.
type ledger struct {
	// revision is the last revision that it includes.
	revision int64
	// readable means that the taken ports are known.
	readable bool
	service.Allocation
	// services maps namespace and name to the ports of a service. users counts the services with a port.
	services map[string][]uint32
	users    map[uint32]int
	// unreadable holds the services whose ports are unknown.
	unreadable map[string]bool
	// unused maps the taken ports without a service to the time when that was first seen.
	unused map[uint32]time.Time
}

func newLedger() *ledger {
	l := &ledger{services: map[string][]uint32{}, users: map[uint32]int{}, unreadable: map[string]bool{}, unused: map[uint32]time.Time{}}
	_ = l.allocate(&corev1.RangeAllocation{}) // nothing is taken of the usual range
	return l
}

// allocate stores the taken ports.
func (l *ledger) allocate(stored *corev1.RangeAllocation) (err error) {
	l.Allocation, err = service.AllocationOf(stored)
	l.readable = err == nil
	return err
}

// put stores the ports of a service, and reports whether one of them has a problem.
func (l *ledger) put(name string, ports []uint32) (wrong bool) {
	for _, port := range l.services[name] {
		if l.users[port]--; l.users[port] == 0 {
			delete(l.users, port)
		}
	}
	if delete(l.services, name); len(ports) > 0 {
		l.services[name] = ports
	}
	for _, port := range ports {
		l.users[port]++
	}
	return l.readable && slices.ContainsFunc(ports, l.odd)
}

// odd reports whether a port has several services, or is not marked as taken.
func (l *ledger) odd(port uint32) bool { return l.users[port] > 1 || !l.Taken(port) }

// wrong reports whether a port of any service has a problem.
func (l *ledger) wrong() bool {
	for port := range l.users {
		if l.odd(port) {
			return l.readable
		}
	}
	return false
}

// finding is a problem with a port of a service.
type finding struct {
	service string
	port    uint32
	trouble
}

// findings returns all problems, and the number of ports that are not marked. Of several services with a port,
// the first one keeps it.
func (l *ledger) findings() (all []finding, unmarked int) {
	if !l.readable {
		return nil, 0
	}
	had := map[uint32]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.services)) {
		for _, port := range l.services[name] {
			var t trouble
			switch {
			case !l.Has(port):
				t = trouble{"PortOutOfRange", portAllocation,
					fmt.Sprintf("Port %d is not within the port range %s; please recreate service", port, l.Range())}
			case had[port]:
				t = trouble{"PortAlreadyAllocated", portAllocation,
					fmt.Sprintf("Port %d was assigned to multiple services; please recreate service", port)}
			case !l.Taken(port):
				unmarked++
				t = trouble{"PortNotAllocated", portAllocation, fmt.Sprintf("Port %d is not allocated; repairing", port)}
			}
			if had[port] = true; t != (trouble{}) {
				all = append(all, finding{name, port, t})
			}
		}
	}
	return all, unmarked
}

// suspect updates the taken ports without a service.
func (l *ledger) suspect(now time.Time) {
	was := l.unused
	l.unused = map[uint32]time.Time{}
	if !l.readable {
		return
	}
	for port := range l.All() {
		if l.users[port] > 0 {
			continue
		}
		since, ok := was[port]
		if !ok {
			since = now
		}
		l.unused[port] = since
	}
}

// leaked returns the ports without a service since a time or longer. next is the earliest time of the other
// unused ports. While a service can't be read, there is no result: the service may have any port.
func (l *ledger) leaked(before time.Time) (ports []uint32, next time.Time) {
	if len(l.unreadable) > 0 {
		return nil, time.Time{}
	}
	for port, since := range l.unused {
		switch {
		case !since.After(before):
			ports = append(ports, port)
		case next.IsZero() || since.Before(next):
			next = since
		}
	}
	return ports, next
}
