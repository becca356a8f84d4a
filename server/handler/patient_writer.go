package handler

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// patientWriter is a response that somebody else writes, for as long as the client reads it. It bounds what no deadline of the
// request does:
//
//   - a client that takes nothing of what is written for watchWriteTimeout is cut off;
//   - a connection that was taken over is closed when the request's context ends, and so when the server stops.
type patientWriter struct {
	http.ResponseWriter
	ctx     context.Context
	control *http.ResponseController
	// stuck fires when a write takes too long, as in [httpStream].
	stuck *time.Timer

	mu      sync.Mutex
	writing bool
}

// newPatientWriter returns a writer with a context that ends with the server. The caller must call end.
func newPatientWriter(ctx context.Context, w http.ResponseWriter) (p *patientWriter, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	p = &patientWriter{ResponseWriter: w, ctx: ctx, control: http.NewResponseController(w)}
	p.stuck = time.AfterFunc(watchWriteTimeout, p.isStuck)
	p.stuck.Stop()
	if signal := request.ServerShutdownSignalFrom(ctx); signal != nil {
		go func() {
			select {
			case <-signal.ShuttingDown():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return p, func() {
		cancel()
		p.setWriting(false)
	}
}

func (p *patientWriter) isStuck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing {
		_ = p.control.SetWriteDeadline(time.Now())
	}
}

func (p *patientWriter) setWriting(writing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = writing
	if writing {
		p.stuck.Reset(watchWriteTimeout)
	} else {
		p.stuck.Stop()
	}
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.setWriting(true)
	defer p.setWriting(false)
	return p.ResponseWriter.Write(b)
}

// FlushError sends what has been written.
func (p *patientWriter) FlushError() error {
	p.setWriting(true)
	defer p.setWriting(false)
	return p.control.Flush()
}

// Flush is for callers that know only http.Flusher.
func (p *patientWriter) Flush() { _ = p.FlushError() }

// Hijack hands the connection over.
func (p *patientWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := p.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	return patientConn{conn}, rw, nil
}

// patientConn is a connection that was taken over.
type patientConn struct{ net.Conn }

func (c patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(watchWriteTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
