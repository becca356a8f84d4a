package responsewriters

import (
	"bufio"
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"hash/maphash"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// maxPiecesBytes bounds the memory of the pieces of one server.
	maxPiecesBytes = 16 << 20
	// pieceOverheadBytes is the memory of a piece without its data.
	pieceOverheadBytes = 256
	// minPieceBytes is the least that is kept: the ends of a list change with each revision.
	minPieceBytes = 16 << 10
	// windowBytes is the end of a piece that the next one refers to: all that the compressor takes.
	windowBytes = 8 << 10
	// recentPieces is the number of pieces that are remembered as asked for once. A list of 10 MB has about 100.
	recentPieces = 1 << 12
)

// Pieces keeps compressed pieces of lists, so that a list that is asked for again is not compressed again.
//
// Purpose: most of a compressed list's cost is the compression. Writers cut lists between items, at places that depend
// on the items, so a changed object changes one piece.
//
// Invariants:
//
//  1. A piece is found by the SHA-256 of its bytes and of its window alone. Who gets a kept piece had them already.
//  2. A piece refers to nothing before its window, which is the end of the piece before it, and ends at a byte. So it
//     may follow any stream that ends with the window.
//  3. A piece is kept from the second time on, so that a list that is read once displaces nothing.
//  4. All kept pieces take no more than maxPiecesBytes. The least recently used ones go first.
//
// A nil *Pieces keeps nothing.
type Pieces struct {
	packers sync.Pool
	seed    maphash.Seed

	bytes         prometheus.Gauge
	reused, fresh prometheus.Counter

	// mu guards what follows.
	mu     sync.Mutex
	recent [recentPieces]uint64 // quick hashes, by their last bits
	kept   map[[sha256.Size]byte]*list.Element
	used   list.List // of *piece, the latest first
	size   int
}

// piece is the compressed form of bytes that have this sum.
type piece struct {
	sum  [sha256.Size]byte
	data []byte
}

func (p *piece) size() int { return len(p.data) + pieceOverheadBytes }

// NewPieces returns an empty store, which registers its metrics with reg.
func NewPieces(reg prometheus.Registerer) *Pieces {
	f := promauto.With(reg)
	total := f.NewCounterVec(prometheus.CounterOpts{Name: "kx_list_pieces_total",
		Help: "Pieces of compressed lists that were sent, by whether they were compressed for it or reused."}, []string{"source"})
	p := &Pieces{
		seed: maphash.MakeSeed(), kept: map[[sha256.Size]byte]*list.Element{},
		bytes: f.NewGauge(prometheus.GaugeOpts{Name: "kx_list_pieces_bytes",
			Help: "Memory of the compressed pieces of lists that are kept."}),
		reused: total.WithLabelValues("reused"), fresh: total.WithLabelValues("compressed"),
	}
	p.packers.New = func() any { return &packer{out: bufio.NewWriterSize(nil, zipBufferBytes)} }
	return p
}

// compress returns the compressed form of data, which follows window: a kept one, or one that it makes in scratch.
func (p *Pieces) compress(window, data []byte, scratch *bytes.Buffer) ([]byte, error) {
	if len(data) < minPieceBytes {
		return deflate(window, data, scratch)
	}
	if !p.askedBefore(p.quick(window, data)) {
		p.fresh.Inc()
		return deflate(window, data, scratch)
	}
	sum := sumOf(window, data)
	if kept := p.find(sum); kept != nil {
		p.reused.Inc()
		return kept, nil
	}
	p.fresh.Inc()
	out, err := deflate(window, data, scratch)
	if err == nil {
		p.keep(&piece{sum, bytes.Clone(out)})
	}
	return out, err
}

func (p *Pieces) quick(window, data []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.Write(window) // it never fails
	_, _ = h.Write(data)
	return h.Sum64()
}

// sumOf includes the length of the window: the same bytes with another window are compressed otherwise.
func sumOf(window, data []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(window)))
	for _, part := range [][]byte{length[:], window, data} {
		_, _ = h.Write(part) // it never fails
	}
	h.Sum(sum[:0])
	return sum
}

// askedBefore reports whether a piece was asked for lately, and remembers it. Two pieces with the same hash only mean
// that the second one is kept early.
func (p *Pieces) askedBefore(hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.recent[hash%recentPieces]
	if *at == hash {
		return true
	}
	*at = hash
	return false
}

func (p *Pieces) find(sum [sha256.Size]byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.kept[sum]
	if !ok {
		return nil
	}
	p.used.MoveToFront(at)
	return at.Value.(*piece).data
}

// keep adds a piece, and drops the least recently used ones beyond the limit.
func (p *Pieces) keep(added *piece) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.kept[added.sum]; ok {
		return // by another request, meanwhile
	}
	p.kept[added.sum] = p.used.PushFront(added)
	p.size += added.size()
	for p.size > maxPiecesBytes {
		last := p.used.Remove(p.used.Back()).(*piece)
		delete(p.kept, last.sum)
		p.size -= last.size()
	}
	p.bytes.Set(float64(p.size))
}

// deflate compresses data, which follows window, into scratch, up to the end of a byte.
func deflate(window, data []byte, scratch *bytes.Buffer) ([]byte, error) {
	scratch.Reset()
	err := flate.StatelessDeflate(scratch, data, false, window)
	return scratch.Bytes(), err
}

// packer writes a gzip stream of pieces: each Write is one. It must be closed.
type packer struct {
	pieces  *Pieces
	out     *bufio.Writer
	scratch bytes.Buffer
	window  []byte // for the next piece
	crc     uint32
	size    uint32 // modulo 2³², as at the end of a gzip stream
}

// gzipHeader says: deflate, no name, no time, the fastest compression, an unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// lastBlock is an empty block of deflate, the last one.
const lastBlock = "\x01\x00\x00\xff\xff"

func (p *Pieces) newPacker(w io.Writer) *packer {
	k := p.packers.Get().(*packer)
	k.pieces, k.window, k.crc, k.size = p, k.window[:0], 0, 0
	k.out.Reset(w)
	_, _ = k.out.WriteString(gzipHeader) // a later write returns its error
	return k
}

func (k *packer) Write(data []byte) (int, error) {
	k.crc = crc32.Update(k.crc, crc32.IEEETable, data)
	k.size += uint32(len(data))
	out, err := k.pieces.compress(k.window, data, &k.scratch)
	k.window = k.window[:0]
	if len(data) >= minPieceBytes {
		// A smaller piece is no window: if it differs, the next piece would differ too.
		k.window = append(k.window, data[len(data)-windowBytes:]...)
	}
	if err == nil {
		_, err = k.out.Write(out)
	}
	return len(data), err
}

// Close ends the stream. It returns an error if not all of it was written.
func (k *packer) Close() error {
	end := binary.LittleEndian.AppendUint32([]byte(lastBlock), k.crc)
	_, _ = k.out.Write(binary.LittleEndian.AppendUint32(end, k.size)) // Flush returns its error
	err := k.out.Flush()
	k.out.Reset(nil)
	k.pieces.packers.Put(k)
	return err
}
