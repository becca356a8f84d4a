package listing

import (
	"io"
	"sync"
)

// chunks collects writes and passes them on in large pieces, each of which fills whole records of TLS. After the first
// error all writes return it.
type chunks struct {
	w      io.Writer
	pieces PieceWriter // nil unless w wants pieces
	buf    []byte
	last   int // where in buf the last item ended
	err    error
}

// PieceWriter is a writer that reuses what it made of a piece when the same piece comes again.
type PieceWriter interface {
	WantsPieces() bool
	WritePiece(p []byte) error
}

const (
	// chunkBytes is the size of a piece, or the largest one if pieces are reused.
	chunkBytes = 256 << 10
	// minCutBytes is the smallest piece of whole items, meanCutBytes what follows on average, and maxCutBytes the size
	// from which on any item ends the piece.
	minCutBytes  = 64 << 10
	meanCutBytes = 64 << 10
	maxCutBytes  = 208 << 10
)

var chunkPool = sync.Pool{New: func() any {
	buf := make([]byte, 0, chunkBytes)
	return &buf
}}

func newChunks(w io.Writer) *chunks {
	c := &chunks{w: w, buf: *chunkPool.Get().(*[]byte)}
	if pieces, ok := w.(PieceWriter); ok && pieces.WantsPieces() {
		c.pieces = pieces
	}
	return c
}

// cut ends a piece before or after what changes with each revision of the list.
func (c *chunks) cut() {
	if c.pieces != nil {
		c.flush()
	}
}

// endItem ends a piece after some of the items. The item's key decides, not its place in the list: when an object is
// changed, added or deleted, all pieces but one remain as they were. An item without a key ends only a large piece.
func (c *chunks) endItem(key string) {
	if c.pieces == nil {
		return
	}
	size := len(c.buf) - c.last
	c.last = len(c.buf)
	if c.last >= maxCutBytes || c.last >= minCutBytes && key != "" && endsPiece(key, size) {
		c.flush()
	}
}

// endsPiece picks one item in meanCutBytes.
func endsPiece(key string, size int) bool {
	// FNV-1a, and half of a mixer: the last characters of keys, which differ most, reach all bits.
	hash := uint64(14695981039346656037)
	for i := range len(key) {
		hash = (hash ^ uint64(key[i])) * 1099511628211
	}
	hash = (hash ^ hash>>32) * 0x9e3779b97f4a7c15
	return hash>>32%meanCutBytes < uint64(max(size, 0))
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
	if c.err != nil || len(c.buf) == 0 {
		return c.err
	}
	if c.pieces != nil {
		c.err = c.pieces.WritePiece(c.buf)
	} else {
		_, c.err = c.w.Write(c.buf)
	}
	c.buf, c.last = c.buf[:0], 0
	return c.err
}

func (c *chunks) release() {
	buf := c.buf[:0] // not the field: the pool would keep all of c, and its connection
	chunkPool.Put(&buf)
}
