package filter

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/metrics"
)

// slowBody is the time after which a body counts as slow. Its request then gives its seat to others.
const slowBody = time.Second

// bodyMemory counts the memory that bodies hold until their requests end. Slow bodies have a second, lower limit, so
// that there is always memory for bodies that arrive quickly.
type bodyMemory struct {
	bytes, slowBytes, slow int64
}

func (h bodyMemory) add(sign int64, more bodyMemory) bodyMemory {
	return bodyMemory{h.bytes + sign*more.bytes, h.slowBytes + sign*more.slowBytes, h.slow + sign*more.slow}
}

// exceeds reports whether any count is above its limit.
func (h bodyMemory) exceeds(most bodyMemory) bool {
	return h.bytes > most.bytes || h.slowBytes > most.slowBytes || h.slow > most.slow
}

var (
	bodiesMost   = bodyMemory{bytes: 256 << 20, slowBytes: 128 << 20, slow: 200}
	bodiesOfUser = bodyMemory{bytes: 64 << 20, slowBytes: 32 << 20, slow: 100}
)

// bodies limits the memory that bodies hold, in all and for each user. Administrators have only the limit for each
// user, since they may have to mend an overload. mu guards all and users.
type bodies struct {
	metrics *metrics.Metrics

	mu    sync.Mutex
	all   bodyMemory
	users map[string]bodyMemory
}

// take adds to the holding of a user, unless that would exceed a limit.
func (b *bodies) take(user string, admin bool, more bodyMemory) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, own := b.all.add(1, more), b.users[user].add(1, more)
	if own.exceeds(bodiesOfUser) || !admin && all.exceeds(bodiesMost) {
		return false
	}
	b.all, b.users[user] = all, own
	return true
}

func (b *bodies) giveBack(user string, held bodyMemory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = b.all.add(-1, held)
	if own := b.users[user].add(-1, held); own != (bodyMemory{}) {
		b.users[user] = own
	} else {
		delete(b.users, user)
	}
}

// body counts the body of one request while its handler reads it. mu guards the fields below it.
type body struct {
	io.ReadCloser
	ctx   context.Context
	w     http.ResponseWriter
	in    *bodies
	user  string
	admin bool
	kind  string         // of the request, for the metrics
	seat  returnableSeat // nil if it has none

	mu      sync.Mutex
	timer   *time.Timer // set by the first read
	held    bodyMemory
	refused error
	ended   bool // the body has arrived, or its request has ended
}

// watch returns r with its body, if it has one, in the limits: the server goes by the body of its own request when it
// answers. The caller must call end.
func (b *bodies) watch(ctx context.Context, w http.ResponseWriter, r *http.Request, kind string,
	taken returnableSeat) (*http.Request, *body) {
	if r.ContentLength == 0 {
		return r, nil
	}
	u, _ := request.UserFrom(ctx)
	watched := &body{
		ReadCloser: r.Body, ctx: ctx, w: w, in: b, user: u.GetName(), admin: isAdmin(u), kind: kind, seat: taken,
	}
	limited := *r
	limited.Body = watched
	return &limited, watched
}

// Read fails with a 429 if the body exceeds a limit.
func (b *body) Read(p []byte) (int, error) {
	b.begin()
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return n, err
	}
	more := bodyMemory{bytes: int64(n)}
	if b.held.slow > 0 {
		more.slowBytes = more.bytes
	}
	if b.refused == nil && !b.take(more) {
		b.refused = busy("the bodies of requests under way are too large together")
	}
	if b.refused != nil {
		b.in.metrics.CountDropped(b.kind)
		return 0, b.refused
	}
	if err != nil {
		b.ended = true
		return n, b.sit(err)
	}
	return n, nil
}

// begin starts the timer. A proxy may read a body while its request ends, and even afterwards.
func (b *body) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil && !b.ended {
		b.timer = time.AfterFunc(slowBody, b.isSlow)
	}
}

// take adds to the holding of the body, unless that would exceed a limit. The caller holds mu.
func (b *body) take(more bodyMemory) bool {
	ok := b.in.take(b.user, b.admin, more)
	if ok {
		b.held = b.held.add(1, more)
	}
	return ok
}

// isSlow gives the request's seat to others while the handler waits for the client.
func (b *body) isSlow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	if !b.take(bodyMemory{slow: 1, slowBytes: b.held.bytes}) {
		b.refused = busy("too many bodies arrive slowly")
		// A writer without deadlines has no socket.
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Now())
	}
	if b.seat != nil {
		b.seat.Pause()
	}
}

// sit ends the slow phase of a body. If the body has arrived, the request waits for a seat again. The caller holds mu.
func (b *body) sit(end error) error {
	if b.held.slow == 0 {
		return end
	}
	slow := bodyMemory{slow: 1, slowBytes: b.held.slowBytes}
	b.in.giveBack(b.user, slow)
	b.held = b.held.add(-1, slow)
	if end != io.EOF || b.seat == nil || b.seat.Retake(b.ctx) {
		return end
	}
	b.in.metrics.CountDropped(b.kind)
	return busy("no seat has become free since the body is there")
}

func busy(why string) error {
	return apierrors.NewTooManyRequests("too many requests, please try again later: "+why, 1)
}

// end releases the memory that the body holds.
func (b *body) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.held != (bodyMemory{}) {
		b.in.giveBack(b.user, b.held)
	}
}
