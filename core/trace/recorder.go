package trace

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/mask"
)

// Limits bound the memory of a Recorder. When one is reached, the Recorder forgets ended journeys: those of
// the background first, then in the order of their end. Running journeys are never forgotten.
// Together they may take half of Bytes; beyond that their steps are cut.
type Limits struct {
	Journeys     int // how many journeys that have ended, and a quarter as many of the background
	Bytes        int // how much in all
	JourneyBytes int // how much of one
	Changes      int // how many changes a follower may lag behind
}

// DefaultLimits are the limits of a server.
var DefaultLimits = Limits{Journeys: 512, Bytes: 64 << 20, JourneyBytes: 1 << 20, Changes: 4096}

// LimitsOf returns limits for a number of journeys, each with the share of memory that it has in DefaultLimits.
func LimitsOf(journeys int) Limits {
	l := DefaultLimits
	l.Bytes, l.Journeys = l.Bytes/l.Journeys*journeys, journeys
	l.Bytes = max(l.Bytes, 2*l.JourneyBytes)
	return l
}

// Request describes the request of a journey. Filters fill it in as they learn more.
type Request struct {
	Method, URI                                                  string
	Verb, Group, Version, Resource, Subresource, Namespace, Name string
	ContentType, User, UserAgent, SourceIP, AuditID              string
	// ImpersonatedUser is the user that the request asks to act as, empty without impersonation. The request is
	// refused if the User may not impersonate it.
	ImpersonatedUser string
}

// Response describes the end of a journey.
type Response struct {
	Code  int
	Bytes int64
}

// ChangeType tells what happened to a journey.
type ChangeType uint8

// The types of changes.
const (
	Began ChangeType = iota
	Ended
	Forgotten
	// Changed: a hold began or ended, or an event was delivered while a follower wants to know.
	Changed
)

// Change is one event of a journey for followers.
type Change struct {
	Seq     uint64
	Type    ChangeType
	Journey *Journey
}

// Recorder keeps the latest journeys of one process.
//
// Requests write and followers read. A request never waits for a follower.
//
//  1. changes is a ring: change number s is at s % len. A follower that is slower than the ring learns how many it
//     lost.
//  2. mu guards the fields from seq to waiting. Lock order: a Recorder's mu before a Journey's. No goroutine waits for
//     anything else under either.
//  3. wake is closed and replaced on a change if a follower waits.
type Recorder struct {
	limits  Limits
	process string
	off     atomic.Bool
	level   atomic.Uint32
	running atomic.Int64 // bytes that the journeys that run have reserved
	told    atomic.Int32 // how many want to hear of deliveries
	control Control

	mu        sync.Mutex
	seq       uint64
	journeys  uint64     // how many there were: the number of the last one
	kept      []slot     // by number
	count     int        // how many are kept
	ended     []*Journey // those of kept that have ended, in that order
	quiet     []*Journey // and those of the background
	bytes     int        // of all that have ended
	forgotten uint64
	changes   []Change
	wake      chan struct{}
	waiting   int

	writes writes
}

// slot holds a journey in the list of all.
type slot struct {
	number  uint64
	journey *Journey // nil if it was forgotten
}

// NewRecorder returns a Recorder whose journeys' IDs begin with process.
func NewRecorder(process string, limits Limits) *Recorder {
	r := &Recorder{
		limits:  limits,
		process: process,
		changes: make([]Change, limits.Changes),
		wake:    make(chan struct{}),
		writes:  newWrites(limits.Journeys),
	}
	r.control.held = map[*hold]bool{}
	return r
}

// SetOff turns recording off or on for journeys that begin from now on.
func (r *Recorder) SetOff(off bool) { r.off.Store(off) }

// SetLevel sets the level of journeys that begin from now on. Journey.SetLevel overrides it.
func (r *Recorder) SetLevel(l Level) { r.level.Store(uint32(l)) }

// Begin starts a journey and returns the context in which its steps are recorded. The journey is nil if nothing is
// recorded.
func (r *Recorder) Begin(ctx context.Context, request Request) (context.Context, *Journey) {
	if r.off.Load() {
		return ctx, nil
	}
	j := &Journey{started: time.Now(), rec: r, request: request, recording: recording{alone: true, free: make([]Step, firstSteps)}}
	j.level.Store(r.level.Load())
	j.request.URI = mask.URI(j.request.URI)
	j.request.clip()
	j.bytes = journeyBytes + len(j.request.URI) + len(j.request.UserAgent)
	j.reserve(j.bytes)
	r.mu.Lock()
	r.journeys++
	j.id = r.id(r.journeys)
	j.at = len(r.kept)
	r.kept = append(r.kept, slot{number: r.journeys, journey: j})
	r.count++
	r.changed(Began, j)
	r.mu.Unlock()
	return contextWith(ctx, j), j
}

// Process begins the names of all journeys of this process.
func (r *Recorder) Process() string { return r.process }

// id is the ID of the journey with a number.
func (r *Recorder) id(number uint64) string {
	var room [64]byte // so that the text is all that is allocated
	return string(strconv.AppendUint(append(append(room[:0], r.process...), '-'), number, 10))
}

// changed adds a change. The caller holds mu.
func (r *Recorder) changed(t ChangeType, j *Journey) {
	r.seq++
	j.change, j.changed = t, r.seq
	r.changes[r.seq%uint64(len(r.changes))] = j.lastChange()
	if r.waiting > 0 {
		close(r.wake)
		r.wake = make(chan struct{})
		r.waiting = 0
	}
}

// lastChange is the journey's last change. The caller holds the recorder's mu.
func (j *Journey) lastChange() Change { return Change{Seq: j.changed, Type: j.change, Journey: j} }

// settle counts the memory of a journey that has ended, which no longer grows, and makes room for it.
func (r *Recorder) settle(j *Journey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.at < 0 {
		j.drop() // discarded
		return
	}
	r.bytes += j.bytes
	of, most := &r.ended, r.limits.Journeys
	if j.background {
		of, most = &r.quiet, r.limits.Journeys/4
	}
	*of = append(*of, j)
	r.changed(Ended, j)
	r.makeRoom(of, j, func() bool { return len(*of) > most })
	for _, of := range []*[]*Journey{&r.quiet, &r.ended} {
		r.makeRoom(of, j, func() bool { return r.bytes+int(r.running.Load()) > r.limits.Bytes })
	}
}

// makeRoom forgets journeys while a limit is exceeded, but for the one that has just ended. The caller holds mu.
func (r *Recorder) makeRoom(of *[]*Journey, but *Journey, full func() bool) {
	for n := len(*of); n > 0 && full(); n-- {
		old := (*of)[0]
		(*of)[0] = nil
		*of = (*of)[1:]
		if old == but {
			*of = append(*of, old)
			continue
		}
		r.bytes -= old.bytes
		r.forgotten++
		r.forget(old)
		old.drop()
	}
}

// forget removes a journey. The caller holds mu.
func (r *Recorder) forget(j *Journey) {
	r.kept[j.at].journey = nil
	j.at = -1
	r.count--
	r.changed(Forgotten, j)
	if len(r.kept) < 2*r.count+16 {
		return
	}
	full := r.kept[:0]
	for _, s := range r.kept {
		if s.journey != nil {
			s.journey.at = len(full)
			full = append(full, s)
		}
	}
	clear(r.kept[len(full):])
	r.kept = full
}

// discard removes a journey whose request should not be recorded.
func (r *Recorder) discard(j *Journey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.at >= 0 && (j.change == Began || j.change == Changed) {
		r.forget(j)
	}
}

// tellChanged tells followers that a hold of the journey began or ended, or that an event of its write was delivered.
func (r *Recorder) tellChanged(j *Journey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.at >= 0 {
		r.changed(Changed, j)
	}
}

// Get finds a journey by ID, or returns nil.
func (r *Recorder) Get(id string) *Journey {
	text, ok := strings.CutPrefix(id, r.process+"-")
	number, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil || r.id(number) != id {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i, found := slices.BinarySearchFunc(r.kept, number, func(s slot, n uint64) int { return cmp.Compare(s.number, n) })
	if !found {
		return nil
	}
	return r.kept[i].journey
}

// Began says when a journey of this process began. Of one that is not kept any more only its number is known: the time
// is zero.
func (r *Recorder) Began(id string) (at time.Time, known bool) {
	if j := r.Get(id); j != nil {
		return j.started, true
	}
	text, ok := strings.CutPrefix(id, r.process+"-")
	number, err := strconv.ParseUint(text, 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Time{}, ok && err == nil && 0 < number && number <= r.journeys
}

// TellDeliveries has each delivery be a change of the journey that wrote, until stop is called. Deliveries come when
// most journeys have ended, and few followers want to know.
func (r *Recorder) TellDeliveries() (stop func()) {
	r.told.Add(1)
	return func() { r.told.Add(-1) }
}

// LastChange is the journey's last change.
func (r *Recorder) LastChange(j *Journey) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return j.lastChange()
}

// List returns the last change of each kept journey, in the order in which the journeys began, and the number of the
// latest change.
func (r *Recorder) List() ([]Change, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Change, 0, r.count)
	for _, s := range r.kept {
		if s.journey != nil {
			list = append(list, s.journey.lastChange())
		}
	}
	return list, r.seq
}

// Stats counts kept and dropped journeys.
type Stats struct {
	Journeys  int
	Bytes     int
	Forgotten uint64
}

// Stats returns the numbers of kept and dropped journeys.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Journeys: r.count, Bytes: r.bytes, Forgotten: r.forgotten}
}

// Since returns the changes after number seq, and how many were lost because the follower was too slow.
func (r *Recorder) Since(seq uint64) (changes []Change, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > r.seq {
		return nil, 0 // of another process, or of one before
	}
	if n := uint64(len(r.changes)); r.seq-seq > n {
		lost = r.seq - seq - n
		seq = r.seq - n
	}
	for s := seq + 1; s <= r.seq; s++ {
		changes = append(changes, r.changes[s%uint64(len(r.changes))])
	}
	return changes, lost
}

// Wait waits until there is a change after number seq, or ctx ends.
func (r *Recorder) Wait(ctx context.Context, seq uint64) error {
	for {
		r.mu.Lock()
		if r.seq > seq {
			r.mu.Unlock()
			return nil
		}
		wake := r.wake
		r.waiting++
		r.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
