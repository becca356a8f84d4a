package handler

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// patientWriter is a response that other code writes, for as long as the client reads it. It limits two waits that no
// deadline of the request limits:
//
//   - a client that reads nothing for watchWriteTimeout is cut off;
//   - a hijacked connection is closed when the handler returns, or the server stops. The request's deadline does not end
//     it: a console stays open for as long as its user wants.
type patientWriter struct {
	http.ResponseWriter
	ctx     context.Context
	lasting context.Context // ends with a hijacked connection
	timer   *writeTimer
}

// NewPatientWriter returns a writer for a response that other code writes, and its context, which ends with the server.
// The caller must call end.
func NewPatientWriter(ctx context.Context, w http.ResponseWriter) (_ context.Context, out http.ResponseWriter, end func()) {
	p, end := newPatientWriter(ctx, w)
	return p.ctx, p, end
}

// newPatientWriter returns a writer with a context that ends with the server. The caller must call end.
func newPatientWriter(ctx context.Context, w http.ResponseWriter) (p *patientWriter, end func()) {
	lasting, endConn := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	p = &patientWriter{ResponseWriter: w, ctx: ctx, lasting: lasting, timer: newWriteTimer(w)}
	if signal := request.ServerShutdownSignalFrom(ctx); signal != nil {
		go func() {
			select {
			case <-signal.ShuttingDown():
				cancel()
				endConn()
			case <-lasting.Done():
			}
		}()
	}
	return p, func() {
		endConn()
		cancel()
		p.timer.end()
	}
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.timer.begin()
	defer p.timer.end()
	return p.ResponseWriter.Write(b)
}

// FlushError sends the bytes written so far.
func (p *patientWriter) FlushError() error {
	p.timer.begin()
	defer p.timer.end()
	return p.timer.control.Flush()
}

// Flush is for callers that know only http.Flusher.
func (p *patientWriter) Flush() { _ = p.FlushError() }

// Hijack hands the connection over.
func (p *patientWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := p.timer.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(p.lasting, func() { _ = conn.Close() })
	return patientConn{conn}, rw, nil
}

// patientConn is a hijacked connection.
type patientConn struct{ net.Conn }

func (c patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(watchWriteTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
