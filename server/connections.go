package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/metrics"
)

// noticePeriod is how often the log reports that connections are closed for one reason.
const noticePeriod = time.Minute

// connections accepts no more connections than most at once. Beyond, the oldest that has not asked for anything yet gives its
// place to the newest: who opens many and sends nothing keeps nobody out. If all have asked, the newest is closed before its
// handshake, and who is there already goes on.
type connections struct {
	net.Listener
	most    int
	log     *slog.Logger
	metrics *metrics.Metrics

	lock sync.Mutex
	open int
	// silent are those that have not sent a whole request yet, the oldest first.
	silent list.List

	refusals, cutOffs notice
}

// notice counts what the log reports once in noticePeriod at most.
type notice struct {
	lock  sync.Mutex
	count int
	told  time.Time
}

// add counts one more, and calls report with the number of those that the log has not reported, unless that is too early.
func (n *notice) add(report func(count int)) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.count++
	if time.Since(n.told) < noticePeriod {
		return
	}
	report(n.count)
	n.count, n.told = 0, time.Now()
}

func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		made, oldest := c.enter(conn)
		if oldest != nil {
			_ = oldest.Close()
		} else if made == nil {
			_ = conn.Close()
		}
		if oldest != nil || made == nil {
			c.metrics.ConnectionRefused()
			c.sayRefused()
		}
		if made != nil {
			c.metrics.ConnectionOpened()
			return made, nil
		}
	}
}

// enter counts a new connection, and returns the one that has to give its place to it. Without a place it returns nil.
func (c *connections) enter(conn net.Conn) (made, oldest *connection) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.most > 0 && c.open >= c.most {
		first := c.silent.Front()
		if first == nil {
			return nil, nil
		}
		oldest = first.Value.(*connection)
		oldest.leave()
	}
	made = &connection{Conn: conn, of: c}
	made.silent = c.silent.PushBack(made)
	c.open++
	return made, oldest
}

func (c *connections) sayRefused() {
	c.refusals.add(func(count int) {
		c.log.Warn("closed connections: there are as many as --max-connections allows", "most", c.most, "closed", count)
	})
}

// cutOff counts a connection that closes because of its resets.
func (c *connections) cutOff(conn net.Conn) {
	c.metrics.ConnectionCutOff()
	c.cutOffs.add(func(count int) {
		c.log.Warn("closed connections: their clients opened and reset requests faster than docs/serve.md allows",
			"last", conn.RemoteAddr().String(), "closed", count)
	})
}

// connection is one that counts until it is closed.
type connection struct {
	net.Conn
	of *connections
	// silent is its place among those that have not asked, and left says that it counts no more. of.lock guards both.
	silent *list.Element
	left   bool
}

func (c *connection) Close() error {
	c.of.lock.Lock()
	c.leave()
	c.of.lock.Unlock()
	return c.Conn.Close()
}

// leave needs of.lock.
func (c *connection) leave() {
	if c.left {
		return
	}
	c.left = true
	c.speak()
	c.of.open--
	c.of.metrics.ConnectionClosed()
}

// speak needs of.lock.
func (c *connection) speak() {
	if c.silent != nil {
		c.of.silent.Remove(c.silent)
		c.silent = nil
	}
}

// withConnection is an http.Server's ConnContext, by which the first whole request finds its connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if over, ok := conn.(*tls.Conn); ok {
		if c, ok := over.NetConn().(*connection); ok {
			return filter.OnFirstRequest(ctx, c.heard)
		}
	}
	return ctx
}

// heard notes that the connection has sent a whole request.
func (c *connection) heard() {
	c.of.lock.Lock()
	defer c.of.lock.Unlock()
	c.speak()
}
