package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
)

// Away says that nobody answered: the server is not there, or went away.
type Away struct {
	Host string
	// Why is the reason in a few words, such as connection refused.
	Why   string
	cause error
}

func (e *Away) Error() string {
	return fmt.Sprintf("the server at %s does not answer (%s)", e.Host, e.Why)
}

// Unwrap is what the system said.
func (e *Away) Unwrap() error { return e.cause }

// presence is whether the server answers, as far as it was asked.
type presence struct {
	mu      sync.Mutex
	away    *Away
	returns int
}

// Away is why the server did not answer when it was asked last; nil if it did, or was not asked yet.
func (c *Client) Away() *Away {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.presence.away
}

// Returns is how often the server has answered again after it had not: what failed meanwhile can be asked again.
func (c *Client) Returns() int {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.presence.returns
}

// answered notes whether a request was answered, and says in words why not. Who gave up waiting has learned nothing, and a
// server that begins anew is not back as long as it says 503.
func (c *Client) answered(ctx context.Context, res *http.Response, err error) error {
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return c.gone(err)
	case ctx.Err() != nil:
		return err
	}
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	if err != nil {
		c.presence.away = c.gone(err)
		return c.presence.away
	}
	if c.presence.away != nil && res.StatusCode != http.StatusServiceUnavailable {
		c.presence.returns++
		c.presence.away = nil
	}
	return nil
}

// cut is why a stream can't be read further: where it was not its contents, the server went away.
func (c *Client) cut(ctx context.Context, err error) error {
	var op *net.OpError
	if ctx.Err() == nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)) {
		return c.gone(err)
	}
	return err
}

// gone is an error of the connection in words.
func (c *Client) gone(err error) *Away {
	a := &Away{Host: c.base.String(), cause: err, Why: "it closed the connection"}
	var op *net.OpError
	var system *os.SyscallError
	var whole *url.Error
	var timeout net.Error
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
	case errors.As(err, &system):
		a.Why = system.Err.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		a.Why = "it takes too long"
	case errors.As(err, &op):
		a.Why = op.Err.Error()
	case errors.As(err, &whole):
		a.Why = whole.Err.Error()
	default:
		a.Why = err.Error()
	}
	return a
}
