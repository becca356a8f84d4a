package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn is an HTTP/2 connection. It replaces a general client, which spends as much on a small request as a fast
// server does. writing guards out, framer's writes, block, encoder and next. mu guards the fields after it except
// unread, and of streams window, err and ended. Only the reader uses unread, and of streams code, bytes, said and
// unread; others read these once done is closed. A goroutine that needs both mutexes locks writing first.
//
//  1. Senders of requests write frames while they hold writing. No sender waits for the server while it holds
//     writing, because the reader needs it to answer the server.
//  2. One goroutine reads frames and calls the sinks, which must be quick.
//  3. After close, nothing is written, and every stream has ended.
type conn struct {
	net       net.Conn
	authority string
	headers   []hpack.HeaderField // of all requests

	writing sync.Mutex
	out     *bufio.Writer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	next    uint32

	mu        sync.Mutex
	windows   *sync.Cond // signals changes of windows and streams
	streams   map[uint32]*stream
	window    int64 // bytes that may be sent
	initial   int64 // window of a new stream
	frameSize int64
	unread    int64 // received bytes that were not yet granted to the server again
	leaving   bool  // the server refuses new streams
	failure   error
}

// stream is a running request.
type stream struct {
	id     uint32
	sink   func([]byte) bool
	window int64
	unread int64
	code   int
	bytes  int64
	said   []byte // the beginning of a refusal
	err    error
	ended  bool
	done   chan struct{}
}

// request is an HTTP request.
type request struct {
	method, path, accept, contentType string
	gzip                              bool
	body                              []byte
	// sink, if not nil, gets the answer's body piece by piece, and returns whether to continue.
	sink func([]byte) bool
}

// answer is an HTTP answer. A code of 0 means that there was no answer.
type answer struct {
	code  int
	bytes int64
	// said is the beginning of a failure's body. The sink does not get it.
	said []byte
}

const (
	// The window is so large that a server never waits for this client while it sends a list.
	receiveWindow = 1 << 30
	preface       = http2.ClientPreface
	refusalMost   = 4096
)

func dial(ctx context.Context, address, authority string, config *tls.Config, headers []hpack.HeaderField) (*conn, error) {
	dialer := &tls.Dialer{Config: config}
	plain, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil && strings.Contains(err.Error(), "no application protocol") {
		return nil, fmt.Errorf("connect to %s: the server does not speak HTTP/2: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if got := plain.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != http2.NextProtoTLS {
		_ = plain.Close()
		return nil, fmt.Errorf("connect to %s: the server does not speak HTTP/2", address)
	}
	c := &conn{net: plain, authority: authority, headers: headers, out: bufio.NewWriterSize(plain, 64<<10), next: 1,
		streams: map[uint32]*stream{}, window: 65535, initial: 65535, frameSize: 16384}
	c.windows = sync.NewCond(&c.mu)
	c.framer = http2.NewFramer(c.out, bufio.NewReaderSize(plain, 64<<10))
	c.framer.SetMaxReadFrameSize(1 << 20)
	c.framer.SetReuseFrames()
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	_, err = c.out.WriteString(preface)
	err = errors.Join(err,
		c.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindow},
			http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}), c.framer.WriteWindowUpdate(0, receiveWindow), c.out.Flush())
	if err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	go c.read()
	return c, nil
}

// do sends a request and waits for the end of its answer.
func (c *conn) do(ctx context.Context, r *request) (answer, error) {
	s := &stream{sink: r.sink, done: make(chan struct{})}
	if err := c.send(s, r); err != nil {
		return answer{}, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		c.cancel(s)
		return answer{}, ctx.Err()
	}
	return answer{s.code, s.bytes, s.said}, s.err
}

// send writes a request. It waits for windows as necessary.
func (c *conn) send(s *stream, r *request) error {
	c.writing.Lock()
	err := c.open(s)
	if err != nil {
		c.writing.Unlock()
		return err
	}
	c.block.Reset()
	c.encode(r)
	err = c.framer.WriteHeaders(
		http2.HeadersFrameParam{StreamID: s.id, BlockFragment: c.block.Bytes(), EndStream: len(r.body) == 0, EndHeaders: true})
	body := r.body
	for err == nil && len(body) > 0 {
		n := c.take(s, len(body), false)
		if n == 0 {
			break
		}
		err = c.framer.WriteData(s.id, n == len(body), body[:n])
		body = body[n:]
	}
	err = errors.Join(err, c.out.Flush())
	c.writing.Unlock()
	for err == nil && len(body) > 0 {
		n := c.take(s, len(body), true)
		if n == 0 {
			return nil // the stream has ended, and its answer explains why
		}
		c.writing.Lock()
		err = errors.Join(c.framer.WriteData(s.id, n == len(body), body[:n]), c.out.Flush())
		c.writing.Unlock()
		body = body[n:]
	}
	if err != nil {
		c.close(fmt.Errorf("send: %w", err))
	}
	return err
}

// open gives a stream its number.
func (c *conn) open(s *stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure
	}
	if c.leaving {
		return errLeaving
	}
	s.id, s.window = c.next, c.initial
	c.next += 2
	c.streams[s.id] = s
	return nil
}

var errLeaving = errors.New("the server has asked for no more requests on this connection")

// encode writes a request's headers. Paths differ each time, so they must not push other headers out of the table.
func (c *conn) encode(r *request) {
	field := func(name, value string, once bool) {
		// Writing to a bytes.Buffer never fails.
		_ = c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: once})
	}
	field(":method", r.method, false)
	field(":scheme", "https", false)
	field(":authority", c.authority, false)
	field(":path", r.path, true)
	field("accept", r.accept, false)
	if r.gzip {
		field("accept-encoding", "gzip", false)
	}
	if len(r.body) > 0 {
		field("content-type", r.contentType, false)
		field("content-length", strconv.Itoa(len(r.body)), false)
	}
	for _, h := range c.headers {
		_ = c.encoder.WriteField(h)
	}
}

// take takes up to n bytes from the windows of connection and stream. With wait, 0 means that the stream has ended.
func (c *conn) take(s *stream, n int, wait bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if s.ended {
			return 0
		}
		if free := min(c.window, s.window, c.frameSize, int64(n)); free > 0 {
			c.window -= free
			s.window -= free
			return int(free)
		}
		if !wait {
			return 0
		}
		c.windows.Wait()
	}
}

// cancel ends a stream whose rest is not needed.
func (c *conn) cancel(s *stream) {
	if !c.end(s, nil) {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if errors.Join(c.framer.WriteRSTStream(s.id, http2.ErrCodeCancel), c.out.Flush()) != nil {
		_ = c.net.Close() // the reader reports the error
	}
}

// end ends a stream. It returns false if the stream had ended already.
func (c *conn) end(s *stream, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endLocked(s, err)
}

func (c *conn) endLocked(s *stream, err error) bool {
	if s.ended {
		return false
	}
	s.ended, s.err = true, err
	delete(c.streams, s.id)
	close(s.done)
	c.windows.Broadcast()
	return true
}

// close ends all streams.
func (c *conn) close(err error) {
	_ = c.net.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
	}
	for _, s := range c.streams {
		c.endLocked(s, c.failure)
	}
}

// usable reports whether the connection accepts new requests.
func (c *conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure == nil && !c.leaving
}
