package repair

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

// ledger is which node ports are taken, and which services have.
type ledger struct {
	// revision is up to when it is true.
	revision int64
	// readable says that it is known what is taken.
	readable bool
	service.Allocation
	// services have ports, by namespace and name. users says how many have a port.
	services map[string][]uint32
	users    map[uint32]int
	// unreadable are services of which nobody knows what they have.
	unreadable map[string]bool
	// unused are the taken ports that no service has, and since when that is known.
	unused map[uint32]time.Time
}

func newLedger() *ledger {
	l := &ledger{services: map[string][]uint32{}, users: map[uint32]int{}, unreadable: map[string]bool{}, unused: map[uint32]time.Time{}}
	_ = l.allocate(&corev1.RangeAllocation{}) // nothing is taken of the usual range
	return l
}

// allocate notes what is taken.
func (l *ledger) allocate(stored *corev1.RangeAllocation) (err error) {
	l.Allocation, err = service.AllocationOf(stored)
	l.readable = err == nil
	return err
}

// put notes what a service has, and says whether something is wrong with one of its ports.
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

// odd says whether a port that services have is not taken by one.
func (l *ledger) odd(port uint32) bool { return l.users[port] > 1 || !l.Taken(port) }

// wrong says whether something is wrong with a port of any service.
func (l *ledger) wrong() bool {
	for port := range l.users {
		if l.odd(port) {
			return l.readable
		}
	}
	return false
}

// finding is a port of a service with which something is wrong.
type finding struct {
	service string
	port    uint32
	trouble
}

// findings are all of them, and how many ports are not marked. Of several services the first one has a port.
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

// suspect notes which taken ports no service has.
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

// leaked are the ports that no service has since a time, and next is the earliest time since which no service has
// another one. While a service can't be read, it may have any.
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
