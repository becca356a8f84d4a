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

// UnreachableError is the error of an unreachable server: it never answered, or went away.
type UnreachableError struct {
	Host string
	// Why is the reason in a few words, such as connection refused.
	Why   string
	cause error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the server at %s does not answer (%s)", e.Host, e.Why)
}

// Unwrap returns the error of the connection.
func (e *UnreachableError) Unwrap() error { return e.cause }

// presence records whether the server answers. mu guards away and returns.
type presence struct {
	mu      sync.Mutex
	away    *UnreachableError
	returns int
}

// Unreachable returns the failure of the latest request to reach the server; nil if the server answered, or nothing was
// sent yet.
func (c *Client) Unreachable() *UnreachableError {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.presence.away
}

// Recoveries counts how often the server answered again after a failure. A change tells callers to repeat failed
// requests.
func (c *Client) Recoveries() int {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.presence.returns
}

// recordAnswer records whether a request was answered, and turns a failed connection into an [UnreachableError]. A
// cancelled request proves nothing. A restarting server counts as away while it answers 503.
func (c *Client) recordAnswer(ctx context.Context, res *http.Response, err error) error {
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return c.unreachable(err)
	case ctx.Err() != nil:
		return err
	}
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	if err != nil {
		c.presence.away = c.unreachable(err)
		return c.presence.away
	}
	if c.presence.away != nil && res.StatusCode != http.StatusServiceUnavailable {
		c.presence.returns++
		c.presence.away = nil
	}
	return nil
}

// cut returns the error that ended a stream, as an [UnreachableError] if the connection broke rather than the contents.
func (c *Client) cut(ctx context.Context, err error) error {
	var op *net.OpError
	if ctx.Err() == nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)) {
		return c.unreachable(err)
	}
	return err
}

// unreachable turns an error of the connection into an [UnreachableError] with a short reason.
func (c *Client) unreachable(err error) *UnreachableError {
	a := &UnreachableError{Host: c.base.String(), cause: err, Why: "it closed the connection"}
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
