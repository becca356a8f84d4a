package cmdlog

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/tui/api"
)

const (
	sentMost = 500
	bodyMost = 64 << 10
)

// entry is a request that was sent for the user.
type entry struct {
	at time.Time
	api.Request
	note string // what the command lacks of the request
}

// Log holds the newest requests. The zero Log is empty. mu guards its fields.
type Log struct {
	mu      sync.Mutex
	all     []entry
	gone    int
	changed func()
}

// Add notes a request, if it was sent for the user: one that writes, or that the user made.
func (l *Log) Add(r api.Request) {
	if !ofUser(r) {
		return
	}
	one := entry{at: time.Now(), Request: r}
	switch body, hidden, ok := maskRequest(r); {
	case !ok:
		one.Body, one.note = nil, "the body may have secrets, and is left out"
	case hidden:
		one.Body, one.note = body, "the values of the Secret are masked"
	}
	if len(one.Body) > bodyMost {
		one.Body, one.note = nil, "the body is too long for this list, and is left out"
	}
	one.Header = visibleHeader(r.Header)
	l.mu.Lock()
	if l.all = append(l.all, one); len(l.all) > sentMost {
		l.all = append(l.all[:0], l.all[1:]...)
		l.gone++
	}
	changed := l.changed
	l.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// ofUser reports whether a request is the user's: not one that only asks the server for what the screen shows.
func ofUser(r api.Request) bool {
	if r.Method == "" || r.Method == http.MethodGet {
		return r.Asked
	}
	trial := strings.HasPrefix(r.Path, api.KX) && strings.Contains(r.Path, "dryRun=")
	return !trial
}

// visibleHeader drops the headers that only trace a request, or that no command should have.
func visibleHeader(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch http.CanonicalHeaderKey(name) {
		case "Kx-Trace", "Audit-Id", "User-Agent", "Accept", "Authorization", "Cookie":
		default:
			out[name] = values
		}
	}
	return out
}

// list returns the requests, the oldest first, and the number of those before them.
func (l *Log) list() ([]entry, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry(nil), l.all...), l.gone
}

// notify makes later requests call changed.
func (l *Log) notify(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}
