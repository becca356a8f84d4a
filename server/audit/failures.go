package audit

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kx-apiserver/kx/core/escape"
)

// The places of a loss, as the metric names them.
const (
	logPlugin      = "log"
	webhookPlugin  = "webhook"
	bufferPlugin   = "buffered"
	truncatePlugin = "truncate"
)

// linesEvery is the least time between two log lines about the same place.
const linesEvery = 10 * time.Second

// failures counts and logs the lost events. mu guards places and their fields.
//
// The library would count them in a registry of the process, and log each event.
type failures struct {
	lost *prometheus.CounterVec
	log  *slog.Logger
	now  func() time.Time

	mu     sync.Mutex
	places []*place
}

// place is one place at which events get lost.
type place struct {
	name, text string
	logged     time.Time // the last line
	// events is the number of losses since then, and err the reason of the last one.
	events  int
	err     error
	pending bool // whether a failure is not logged yet
}

// The texts of log lines.
const (
	lostText = "audit events were lost"
	keptText = "the audit log's file has a problem, but no event was lost"
)

func newFailures(registry prometheus.Registerer, log *slog.Logger) *failures {
	return &failures{
		lost: promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_audit_error_total",
			Help: "Audit events that were lost, by where: log, webhook, buffered for those that found the buffer full or " +
				"came too late to it, truncate for those that were too large.",
		}, []string{"plugin"}),
		log: log, now: time.Now,
	}
}

// counter returns the function that counts and logs events that are lost at a place.
func (f *failures) counter(plugin string) func(error, int) {
	count, p := f.lost.WithLabelValues(plugin), f.place(plugin, lostText)
	return func(err error, events int) {
		count.Add(float64(events))
		f.failed(p, err, events)
	}
}

// loggerFor returns the function that logs failures at a place which lose no event.
func (f *failures) loggerFor(plugin string) func(error) {
	p := f.place(plugin, keptText)
	return func(err error) { f.failed(p, err, 0) }
}

func (f *failures) place(name, text string) *place {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &place{name: name, text: text}
	f.places = append(f.places, p)
	return p
}

func (f *failures) failed(p *place, err error, events int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.events += events
	p.err, p.pending = err, true
	if f.now().Sub(p.logged) >= linesEvery {
		f.line(p)
	}
}

// line logs the failures since the last line. The caller holds mu.
func (f *failures) line(p *place) {
	f.log.Error(p.text, "at", p.name, "events", p.events, "error", escape.Line(p.err.Error()))
	p.logged, p.events, p.pending = f.now(), 0, false
}

// close logs the failures that are not logged yet.
func (f *failures) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.places {
		if p.pending {
			f.line(p)
		}
	}
}
