package flow

import (
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol/debug"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// queues finds the queue in which a request waits, by dumps of the library. A dump is as large as the queues, so it is
// made only now and then, and all waiting requests use the same one. mu guards sets and their dumps.
type queues struct {
	mu   sync.Mutex
	sets map[string]*dumped
}

type dumped struct {
	set   fairqueuing.QueueSet
	when  time.Time
	place map[*string]int // the number of the queue, by the first part of the request's path
}

// often is the least time between two dumps of a level.
const often = 20 * time.Millisecond

// find returns the number of the queue in which a request waits, -1 if it is unknown.
func (q *queues) find(level string, info *request.RequestInfo) int {
	if len(info.Parts) == 0 {
		return -1 // a request for no resource can't be distinguished from others
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.sets[level]
	if d == nil {
		return -1
	}
	// Dumps copy the request info, but share its parts with the request.
	if at, ok := d.place[&info.Parts[0]]; ok {
		return at
	}
	if time.Since(d.when) < often {
		return -1
	}
	d.when, d.place = time.Now(), map[*string]int{}
	dump := d.set.Dump(true)
	for i := range dump.Queues {
		d.remember(i, dump.Queues[i].Requests)
		d.remember(i, dump.Queues[i].RequestsExecuting)
	}
	if at, ok := d.place[&info.Parts[0]]; ok {
		return at
	}
	return -1
}

func (d *dumped) remember(queue int, requests []debug.RequestDump) {
	for i := range requests {
		if parts := requests[i].RequestInfo.Parts; len(parts) > 0 {
			d.place[&parts[0]] = queue
		}
	}
}

// by wraps the factory, so that queues gets each queue set that the library makes.
func (q *queues) by(factory fairqueuing.QueueSetFactory) fairqueuing.QueueSetFactory {
	return &noting{QueueSetFactory: factory, queues: q}
}

type noting struct {
	fairqueuing.QueueSetFactory
	queues *queues
}

// BeginConstruction begins the queue set of a new level.
func (n *noting) BeginConstruction(c fairqueuing.QueuingConfig, pair metrics.RatioedGaugePair, seats metrics.RatioedGauge,
	demand metrics.Gauge) (fairqueuing.QueueSetCompleter, error) {
	completer, err := n.QueueSetFactory.BeginConstruction(c, pair, seats, demand)
	return &completing{QueueSetCompleter: completer, level: c.Name, queues: n.queues}, err
}

type completing struct {
	fairqueuing.QueueSetCompleter
	level  string
	queues *queues
}

// Complete makes the queue set and registers it.
func (c *completing) Complete(d fairqueuing.DispatchingConfig) fairqueuing.QueueSet {
	set := c.QueueSetCompleter.Complete(d)
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	if c.queues.sets == nil {
		c.queues.sets = map[string]*dumped{}
	}
	c.queues.sets[c.level] = &dumped{set: set}
	return set
}
