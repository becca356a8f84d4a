package factory

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// redialInterval is the pause of a check between two attempts to connect.
const redialInterval = time.Second

// ErrNoSpace says that etcd's quota is used up.
var ErrNoSpace = errors.New("etcd has the alarm NOSPACE and refuses all writes but deletions: `kx etcd doctor` says what to do")

var errNotConnected = errors.New("etcd client connection not yet established")

// check asks etcd for a key, at most twice in its timeout. Calls in between get the last answer. mu guards transport,
// last and err.
type check struct {
	key     string
	timeout time.Duration
	// further looks are taken if etcd has answered.
	further []func(*check, context.Context) error

	mu        sync.Mutex
	transport *transport
	last      time.Time
	err       error
}

func newETCD3Check(ctx context.Context, c Config, timeout time.Duration, further ...func(*check, context.Context) error) func() error {
	ch := &check{key: path.Join("/", c.Prefix, "health"), timeout: timeout, further: further, err: errNotConnected}
	go ch.connect(ctx, c.orOwn(), c.Transport)
	return ch.probe
}

// connect dials until it succeeds, and closes the connection when ctx ends.
func (ch *check) connect(ctx context.Context, s *Pool, c TransportConfig) {
	for {
		t, err := s.acquire(c)
		ch.mu.Lock()
		ch.transport, ch.err = t, err
		ch.mu.Unlock()
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(redialInterval):
		}
	}
	<-ctx.Done()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.transport.release()
	ch.transport, ch.err = nil, errors.New("server is shutting down")
}

// probe holds the lock while it asks, so that the connection is not closed meanwhile.
func (ch *check) probe() error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.transport == nil || time.Since(ch.last) < ch.timeout/2 {
		return ch.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ch.timeout)
	defer cancel()
	ch.last, ch.err = time.Now(), nil
	if _, err := ch.transport.client.Get(ctx, ch.key); err != nil {
		ch.err = fmt.Errorf("error getting data from etcd: %w", err)
		return ch.err
	}
	for _, look := range ch.further {
		ch.err = errors.Join(ch.err, look(ch, ctx))
	}
	return ch.err
}

// space looks for the alarm of a used up quota. Every member knows those of all members and tells them with its status;
// a list of alarms would be an entry of etcd's log each time. An etcd that does not tell its status answers reads all
// the same.
func (ch *check) space(ctx context.Context) error {
	var errs []string
	if conn := ch.transport.client.ActiveConnection(); conn != nil {
		// Client.Status makes a connection each time.
		if s, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{}); err == nil {
			errs = s.Errors
		}
	} else if s, err := ch.transport.client.Status(ctx, ""); err == nil {
		errs = s.Errors
	}
	noSpace := func(e string) bool { return strings.Contains(e, pb.AlarmType_NOSPACE.String()) }
	if slices.ContainsFunc(errs, noSpace) {
		return ErrNoSpace
	}
	return nil
}
