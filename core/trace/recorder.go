package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Limits bound what a Recorder keeps.
type Limits struct {
	Journeys     int // how many journeys
	Bytes        int // how much in all
	JourneyBytes int // how much of one
}

// DefaultLimits are the limits of a server.
var DefaultLimits = Limits{Journeys: 512, Bytes: 64 << 20, JourneyBytes: 1 << 20}

// Request is what a journey knows of its request. It is filled in as the filters find out.
type Request struct {
	Method, URI                                                               string
	Verb, Group, Version, Resource, Subresource, Namespace, Name, ContentType string
	User, UserAgent, SourceIP, AuditID                                        string
}

// Response is how a journey ended.
type Response struct {
	Code  int
	Bytes int64
}

// Recorder keeps the latest journeys of one process.
type Recorder struct {
	limits  Limits
	process string

	mu   sync.Mutex
	seq  uint64
	kept []*Journey
}

// NewRecorder returns a Recorder whose journeys' IDs begin with process.
func NewRecorder(process string, limits Limits) *Recorder {
	return &Recorder{limits: limits, process: process}
}

// Begin starts a journey and returns the context in which its steps are recorded.
func (r *Recorder) Begin(ctx context.Context, request Request) (context.Context, *Journey) {
	j := &Journey{started: time.Now(), rec: r, request: request}
	r.mu.Lock()
	r.seq++
	j.seq = r.seq
	j.id = fmt.Sprintf("%s-%d", r.process, r.seq)
	r.kept = append(r.kept, j)
	r.mu.Unlock()
	return ContextWith(ctx, j), j
}

// ID names the journey among those of all processes.
func (j *Journey) ID() string { return j.id }

// SetLevel says how much is recorded from now on.
func (j *Journey) SetLevel(l Level) { j.level.Store(uint32(l)) }

// UpdateRequest fills in what is found out about the request.
func (j *Journey) UpdateRequest(f func(*Request)) {
	j.mu.Lock()
	f(&j.request)
	j.mu.Unlock()
}

// Discard forgets the journey: it is not to be recorded.
func (j *Journey) Discard() {
}

// Finish ends the journey.
func (j *Journey) Finish(response Response) {
	j.mu.Lock()
	j.response = response
	j.finished = true
	j.mu.Unlock()
}

func encodeMasked(obj apiruntime.Object) []byte {
	data, _ := json.Marshal(obj)
	return data
}
