package listing

import (
	"io"
	"sync"
)

// chunks collects writes and passes them on in large pieces, each of which fills whole records of TLS. After the first
// error all writes return it.
type chunks struct {
	w   io.Writer
	buf []byte
	err error
}

// chunkBytes is the size of a piece.
const chunkBytes = 256 << 10

var chunkPool = sync.Pool{New: func() any {
	buf := make([]byte, 0, chunkBytes)
	return &buf
}}

func newChunks(w io.Writer) *chunks {
	return &chunks{w: w, buf: *chunkPool.Get().(*[]byte)}
}

func (c *chunks) write(p []byte) error {
	for len(p) > 0 && c.err == nil {
		n := copy(c.buf[len(c.buf):cap(c.buf)], p)
		c.buf, p = c.buf[:len(c.buf)+n], p[n:]
		if len(c.buf) == cap(c.buf) {
			c.flush()
		}
	}
	return c.err
}

func (c *chunks) writeString(s string) error {
	for len(s) > 0 && c.err == nil {
		n := copy(c.buf[len(c.buf):cap(c.buf)], s)
		c.buf, s = c.buf[:len(c.buf)+n], s[n:]
		if len(c.buf) == cap(c.buf) {
			c.flush()
		}
	}
	return c.err
}

func (c *chunks) flush() error {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.w.Write(c.buf)
		c.buf = c.buf[:0]
	}
	return c.err
}

func (c *chunks) release() {
	buf := c.buf[:0] // not the field: the pool would keep all of c, and its connection
	chunkPool.Put(&buf)
}
