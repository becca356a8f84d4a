package kms

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sourceID tells sources apart.
type sourceID [sha256.Size]byte

func (s *source) id() sourceID {
	return sha256.Sum256(append([]byte{byte(s.kind)}, s.append(nil)...))
}

// openSource is a decrypted source, which opens its values.
type openSource struct {
	secret
	at time.Time
	// proved says that it has opened a value, and suspect that it failed to before it was proved: then the plugin may
	// have decrypted wrongly.
	proved, suspect atomic.Bool
}

// open is that of the secret. It notes what that says about the plugin.
func (h *openSource) open(data, place []byte) ([]byte, error) {
	value, err := h.secret.open(data, place)
	switch {
	case err == nil && !h.proved.Load():
		h.proved.Store(true)
	case err != nil && !h.proved.Load():
		h.suspect.Store(true)
	}
	return value, err
}

// trusted reports whether the secret can be used without asking the plugin again. A suspect secret is checked after a
// moment: the values may be damaged instead.
func (h *openSource) trusted(now time.Time) bool {
	return h.proved.Load() || !h.suspect.Load() || now.Sub(h.at) < breather
}

// secretOf returns the secret that opens the values of a source. It calls the plugin once for each source, and not at
// all for a moment after a timeout: a read of a thousand values does not wait a thousand times.
func (e *Envelope) secretOf(ctx context.Context, from *source) (*openSource, error) {
	id := from.id()
	e.mu.Lock()
	known := e.secrets[id]
	e.mu.Unlock()
	if known != nil && known.trusted(e.now()) {
		return known, nil
	}
	if f := e.away.Load(); f != nil && e.now().Sub(f.at) < breather {
		return e.miss(id, from, f.err)
	}
	opener, err := e.decrypt(ctx, from)
	switch {
	case err == nil:
		if e.keep(id, opener) {
			e.tellOpened()
		}
		return opener, nil
	case isOver(ctx): // which says nothing of the plugin
		return nil, err
	}
	return e.miss(id, from, err)
}

// decrypt has the plugin decrypt a source.
func (e *Envelope) decrypt(ctx context.Context, from *source) (*openSource, error) {
	plain, err := e.plugin.decrypt(ctx, from)
	code := status.Code(err)
	var opener secret
	if err == nil {
		opener, err = newSecret(from.kind, plain)
	}
	if err == nil {
		return &openSource{secret: opener, at: e.now()}, nil
	}
	err = fmt.Errorf("failed to decrypt DEK, error: the KMS plugin %q at %s: %w", e.config.Name, e.config.Endpoint, err)
	if !isOver(ctx) && (code == codes.Unavailable || code == codes.DeadlineExceeded) {
		e.away.Store(&failure{err, e.now()})
	}
	return nil, err
}

// isOver says that the caller's time is up. A call that ends by it may do so a moment before its context does.
func isOver(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// keep stores the secret of a source, and reports whether a reader has missed it.
func (e *Envelope) keep(id sourceID, opener *openSource) (missed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.secrets) >= maxSecrets {
		clear(e.secrets) // they are decrypted again when they are needed
	}
	e.secrets[id] = opener
	_, missed = e.closed[id]
	delete(e.closed, id)
	return missed
}

// miss records that a source was not opened, and makes a goroutine retry until it is. If it has been opened
// meanwhile, miss returns its secret.
func (e *Envelope) miss(id sourceID, from *source, err error) (*openSource, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.secrets[id]; known != nil && known.trusted(e.now()) {
		return known, nil
	}
	if len(e.closed) < maxSecrets {
		e.closed[id] = from.clone()
	}
	if !e.seeking {
		e.seeking = true
		go e.seek()
	}
	return nil, err
}

// clone is a source that does not share the stored value's bytes.
func (s *source) clone() source {
	out := *s
	out.encrypted, out.annotations = slices.Clone(s.encrypted), maps.Clone(s.annotations)
	for name, value := range out.annotations {
		out.annotations[name] = slices.Clone(value)
	}
	return out
}

// seek asks the plugin for the sources that it did not open, until it has opened all, and reports each success.
func (e *Envelope) seek() {
	for pause := breather; ; pause = min(2*pause, retry) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-e.life.Done():
			timer.Stop()
			return
		}
		e.mu.Lock()
		closed := maps.Clone(e.closed)
		e.seeking = len(closed) > 0
		e.mu.Unlock()
		if len(closed) == 0 {
			return
		}
		missed := false
		for id, from := range closed {
			opener, err := e.decrypt(e.life, &from)
			if err == nil {
				missed = e.keep(id, opener) || missed
			} else if f := e.away.Load(); e.life.Err() != nil || f != nil && f.err == err {
				break // nor would it open the others
			}
		}
		if missed {
			e.tellOpened()
		}
	}
}

func (e *Envelope) tellOpened() {
	if e.opened != nil {
		e.opened()
	}
}
