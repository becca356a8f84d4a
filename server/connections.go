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

// noticePeriod is the least time between two log lines about connections that are closed for the same reason.
const noticePeriod = time.Minute

// connections limits the open connections to most. Beyond it, a new connection replaces the oldest one that has not
// sent a request yet. So a client that opens many and sends nothing keeps no other client out. If all connections have
// sent a request, the new one is closed before its handshake.
type connections struct {
	net.Listener
	most    int
	log     *slog.Logger
	metrics *metrics.Metrics

	// lock guards open and silent.
	lock sync.Mutex
	open int
	// silent lists the connections that have not sent a whole request yet, the oldest first.
	silent list.List

	refusals, cutOffs notice
}

// notice counts events that the log reports at most once in noticePeriod. lock guards its other fields.
type notice struct {
	lock  sync.Mutex
	count int
	told  time.Time
}

// add counts an event. If noticePeriod has passed since the last report, it calls report with the number of events
// since then.
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

// enter counts a new connection, and returns the one to close for it, if any. If no connection can give way, made is
// nil.
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

// connection counts as open until it is closed.
type connection struct {
	net.Conn
	of *connections
	// silent is the element of the list of silent connections, nil after the first request. left is true once the
	// connection no longer counts. of.lock guards both.
	silent *list.Element
	left   bool
}

func (c *connection) Close() error {
	c.of.lock.Lock()
	c.leave()
	c.of.lock.Unlock()
	return c.Conn.Close()
}

// leave uncounts the connection. The caller holds of.lock.
func (c *connection) leave() {
	if c.left {
		return
	}
	c.left = true
	c.speak()
	c.of.open--
	c.of.metrics.ConnectionClosed()
}

// speak takes the connection off the silent ones. The caller holds of.lock.
func (c *connection) speak() {
	if c.silent != nil {
		c.of.silent.Remove(c.silent)
		c.silent = nil
	}
}

// withConnection is an http.Server's ConnContext. Through it the first whole request of a connection calls heard.
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
