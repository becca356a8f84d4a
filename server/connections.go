package server

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/server/metrics"
)

// refusalPeriod is how often the log says that connections are refused.
const refusalPeriod = time.Minute

// connections accepts no more connections than most at once. Beyond, the newest is closed before its handshake: who is there
// already goes on.
type connections struct {
	net.Listener
	most    int64
	log     *slog.Logger
	metrics *metrics.Metrics

	open atomic.Int64
	// refused is how many were refused since the log said so at told. Only Accept looks at them.
	refused int
	told    time.Time
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if n := c.open.Add(1); c.most == 0 || n <= c.most {
			c.metrics.ConnectionOpened()
			return &connection{Conn: conn, of: c}, nil
		}
		c.open.Add(-1)
		c.metrics.ConnectionRefused()
		_ = conn.Close()
		c.sayRefused()
	}
}

func (c *connections) sayRefused() {
	c.refused++
	if time.Since(c.told) < refusalPeriod {
		return
	}
	c.log.Warn("refused connections: there are as many as --max-connections allows", "most", c.most, "refused", c.refused)
	c.refused, c.told = 0, time.Now()
}

// connection is one that counts until it is closed.
type connection struct {
	net.Conn
	of   *connections
	once sync.Once
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.once.Do(func() {
		c.of.open.Add(-1)
		c.of.metrics.ConnectionClosed()
	})
	return c.Conn.Close()
}
