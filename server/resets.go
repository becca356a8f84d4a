//lint:file-ignore SA1019 http.Server cannot count the resets of a connection, and has no other way to serve HTTP/2 on a wrapped one.

package server

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

const (
	// resetsAtOnce and resetsPerSecond limit the streams of one connection that are reset before their answer begins. A
	// client has at most streamsMost concurrent requests. So it may cancel all of them five times in a row, and twice a
	// second for ever.
	resetsAtOnce    = 500
	resetsPerSecond = 200
)

// boundResets makes s close HTTP/2 connections that exceed these limits. MaxConcurrentStreams does not stop such
// clients: a reset stream is not concurrent any more, but its handler has begun.
func boundResets(s *http.Server) error {
	h2 := &http2.Server{}
	if err := http2.ConfigureServer(s, h2); err != nil {
		return fmt.Errorf("configure HTTP/2: %w", err)
	}
	s.TLSNextProto[http2.NextProtoTLS] = func(s *http.Server, over *tls.Conn, h http.Handler) {
		ctx := context.Background()
		if base, ok := h.(interface{ BaseContext() context.Context }); ok { // the context of the connection, see ConnContext
			ctx = base.BaseContext()
		}
		conn := &resettable{Conn: over, allowed: rate.NewLimiter(resetsPerSecond, resetsAtOnce), answered: map[uint32]bool{}}
		conn.in.skip = len(http2.ClientPreface)
		h2.ServeConn(conn, &http2.ServeConnOpts{Context: ctx, BaseConfig: s, Handler: h})
	}
	return nil
}

// resettable is a connection of HTTP/2 that counts the resets in both directions. After too many, its Read fails with
// an error that makes the HTTP/2 server send GOAWAY, stop reading, and close the connection a second later.
//
// A reset after the answer has begun does not count. It saves the client no work: a client that cancels nothing could
// make the same requests. And every client that stops a watch sends one.
type resettable struct {
	*tls.Conn
	allowed *rate.Limiter
	in, out frames
	// spent is true once there were too many resets.
	spent atomic.Bool
	// mu guards answered: the streams with an answer that has begun and not ended.
	mu       sync.Mutex
	answered map[uint32]bool
}

func (c *resettable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	resets := 0
	for f := range c.in.read(p[:n]) {
		if f.kind == http2.FrameRSTStream && !c.end(f.stream) {
			resets++
		}
	}
	c.count(resets)
	if c.spent.Load() {
		return 0, http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return n, err
}

// Write counts the resets that the server sends, too, because a client can provoke them by frames that are illegal in a
// stream's state. Resets without an error don't count: with them the server declines the rest of a body.
func (c *resettable) Write(p []byte) (int, error) {
	resets := 0
	for f := range c.out.read(p) {
		switch {
		case f.kind == http2.FrameGoAway:
			// The library gives up first where so many handlers wait that the limit of resets per second is not
			// exceeded.
			if f.code == http2.ErrCodeEnhanceYourCalm {
				c.cutOff()
			}
		case f.kind == http2.FrameRSTStream:
			if !c.end(f.stream) && f.code != http2.ErrCodeNo {
				resets++
			}
		case f.kind != http2.FrameHeaders && f.kind != http2.FrameData:
		case f.flags.Has(http2.FlagDataEndStream): // headers have the same flag
			c.end(f.stream)
		case f.kind == http2.FrameHeaders:
			c.begin(f.stream)
		}
	}
	c.count(resets)
	return c.Conn.Write(p)
}

// begin notes that the answer of a stream begins.
func (c *resettable) begin(stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[stream] = true
}

// end ends a stream, and returns whether its answer had begun.
func (c *resettable) end(stream uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := c.answered[stream]
	delete(c.answered, stream)
	return begun
}

func (c *resettable) count(resets int) {
	if resets > 0 && !c.allowed.AllowN(time.Now(), resets) {
		c.cutOff()
	}
}

// cutOff counts the connection as one that is closed because of its resets.
func (c *resettable) cutOff() {
	if c.spent.Swap(true) {
		return
	}
	if under, ok := c.NetConn().(*connection); ok {
		under.of.cutOff(under)
	}
}

const (
	frameHeaderBytes = 9
	codeBytes        = 4
	lastStreamBytes  = 4
)

// beforeCode is the number of bytes between the header of a frame and its error code, and whether it has one.
func beforeCode(kind http2.FrameType, payload int) (int, bool) {
	switch {
	case kind == http2.FrameRSTStream && payload == codeBytes:
		return 0, true
	case kind == http2.FrameGoAway && payload >= lastStreamBytes+codeBytes:
		return lastStreamBytes, true
	}
	return 0, false
}

// frame is the header of a frame, plus the error code of a reset or a GOAWAY.
type frame struct {
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32
	code   http2.ErrCode
}

// frames follows the frames of one direction, however reads and writes divide them.
type frames struct {
	// skip is the number of bytes until the next frame begins. head is the beginning of a frame that is still
	// incomplete.
	skip int
	head []byte
}

// read reads the next bytes, and yields the frames that begin in them.
func (f *frames) read(p []byte) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for len(p) > 0 {
			if f.skip > 0 {
				skipped := min(f.skip, len(p))
				f.skip, p = f.skip-skipped, p[skipped:]
				continue
			}
			p = f.fill(p, frameHeaderBytes)
			if len(f.head) < frameHeaderBytes {
				return
			}
			payload := int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			next := frame{
				kind: http2.FrameType(f.head[3]), flags: http2.Flags(f.head[4]),
				stream: binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1),
			}
			if before, ok := beforeCode(next.kind, payload); ok {
				code := frameHeaderBytes + before
				p = f.fill(p, code+codeBytes)
				if len(f.head) < code+codeBytes {
					return
				}
				next.code = http2.ErrCode(binary.BigEndian.Uint32(f.head[code:]))
			}
			f.skip, f.head = frameHeaderBytes+payload-len(f.head), f.head[:0]
			if !yield(next) {
				return
			}
		}
	}
}

// fill takes bytes of p until head has n, or p none, and returns the rest.
func (f *frames) fill(p []byte, n int) []byte {
	taken := min(max(n-len(f.head), 0), len(p))
	f.head = append(f.head, p[:taken]...)
	return p[taken:]
}
