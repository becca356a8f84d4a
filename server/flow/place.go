package flow

import (
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol/debug"
)

// places finds the queue in which a request of a level waits, by dumps of the library. A dump is as large as the
// queues, so it is made only now and then, and all waiting requests use the same one. mu guards the fields below it.
type places struct {
	mu   sync.Mutex
	when time.Time
	// queue is the number of the queue, by the first part of the request's path.
	queue map[*string]int
}

// often is the least time between two dumps of a level.
const often = 20 * time.Millisecond

// place returns the number of the queue in which a request waits, -1 if it is unknown.
func (l *level) place(info *request.RequestInfo) int {
	if len(info.Parts) == 0 {
		return -1 // a request for no resource can't be distinguished from others
	}
	p := &l.places
	p.mu.Lock()
	defer p.mu.Unlock()
	// Dumps copy the request info, but share its parts with the request.
	if at, ok := p.queue[&info.Parts[0]]; ok {
		return at
	}
	if time.Since(p.when) < often {
		return -1
	}
	p.when, p.queue = time.Now(), map[*string]int{}
	dump := l.set.Dump(true)
	for i := range dump.Queues {
		p.remember(i, dump.Queues[i].Requests)
		p.remember(i, dump.Queues[i].RequestsExecuting)
	}
	if at, ok := p.queue[&info.Parts[0]]; ok {
		return at
	}
	return -1
}

func (p *places) remember(queue int, requests []debug.RequestDump) {
	for i := range requests {
		if parts := requests[i].RequestInfo.Parts; len(parts) > 0 {
			p.queue[&parts[0]] = queue
		}
	}
}
