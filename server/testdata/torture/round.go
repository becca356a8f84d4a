//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// round is what all clients of a round share: which objects they fight for, and what they saw.
type round struct {
	begun time.Time
	// begin is the revision from which on etcd's history is known.
	begin int64
	// known is the highest revision that any client was told of.
	known atomic.Int64

	mu      sync.Mutex
	history history.History
	// compacted is the highest revision that etcd was told to compact.
	compacted int64
	// turns counts the operations of each slot of keys; versions has the last known revision of each key.
	turns    map[string]int
	versions map[string]int64
	faults   []string
}

func newRound(begin int64) *round {
	r := &round{begun: time.Now(), begin: begin, turns: map[string]int{}, versions: map[string]int64{}}
	r.known.Store(begin)
	return r
}

func (r *round) now() int64 { return int64(time.Since(r.begun)) }

// fail notes what no checker sees.
func (r *round) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// target is the next object to fight for. After some operations a slot gets another one: porcupine's work grows with the
// operations on a key, and most with those whose outcome is unknown.
func (r *round) target(k kind, random *rand.Rand) (ns, name string) {
	n := random.IntN(keysAtOnce)
	slot := fmt.Sprintf("%s%d", k.prefix, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	life := r.turns[slot] / keyLife
	r.turns[slot]++
	return namespaces[n%len(namespaces)], fmt.Sprintf("r%d-%d", n, life)
}

// scope is a part of a kind's objects to list or to watch.
func (r *round) scope(k kind, random *rand.Rand) (ns string, scope history.Scope) {
	scope.Prefix = k.prefix
	if random.IntN(2) == 0 {
		ns = namespaces[random.IntN(len(namespaces))]
		scope.Prefix += ns + "/"
	}
	if random.IntN(3) == 0 {
		scope.Color = colors[random.IntN(len(colors))]
	}
	return ns, scope
}

// demand decides which version an operation demands.
func (r *round) demand(o *history.Operation, k kind, random *rand.Rand) {
	if o.Verb != history.Update && o.Verb != history.Delete {
		return
	}
	must := o.Verb == history.Update && !k.unconditional
	if !must && random.IntN(2) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Expect = r.versions[o.Key]
	if must && o.Expect == 0 {
		o.Verb, o.Value = history.Get, ""
	}
}

func (r *round) note(o history.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Operations = append(r.history.Operations, o)
	if o.Outcome == history.OK && o.Revision != 0 {
		r.versions[o.Key] = max(r.versions[o.Key], o.Revision)
		r.known.Store(max(r.known.Load(), o.Revision))
	}
}

func (r *round) noteDeed(d history.Deed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Deeds = append(r.history.Deeds, d)
}

func (r *round) noteRead(read history.Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Reads = append(r.history.Reads, read)
}

func (r *round) noteList(l history.List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Lists = append(r.history.Lists, l)
}

func (r *round) noteStream(s history.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Compacted = r.compacted
	r.history.Streams = append(r.history.Streams, s)
}

// noteCompaction notes what etcd is about to forget.
func (r *round) noteCompaction(revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compacted = max(r.compacted, revision)
}

// check is what is wrong with the round.
func (r *round) check(log history.Log, final map[string]history.Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Log, r.history.Final, r.history.Guards = log, final, []history.Guard{guard()}
	if err := history.Check(&r.history); err != nil {
		return err
	}
	if len(r.faults) > 0 {
		return fmt.Errorf("%d faults:\n%s", len(r.faults), strings.Join(r.faults[:min(len(r.faults), 20)], "\n"))
	}
	return nil
}
