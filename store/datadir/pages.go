package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
)

// bbolt's file format. bbolt itself gives up at the first unreadable page; this reader goes on with the others.
const (
	boltMagic, boltVersion = 0xED0CDAED, 2

	pageHeadBytes            = 16
	branchPage, leafPage     = 0x01, 0x02
	elementBytes, bucketFlag = 16, 0x01

	metaSummed = 56 // the bytes of a meta page that its checksum covers
	// deepest bounds the levels of a tree: a damaged one may have cycles. longestPage bounds a page: etcd never writes
	// a value of this size.
	deepest     = 64
	longestPage = 64 << 20
	// bucketDepth is the level at which the trees of the buckets begin, below the tree of their names.
	bucketDepth = 16
)

// LostPages is a range of keys of a bucket that can't be read.
type LostPages struct {
	// Bucket is empty if the buckets themselves are lost.
	Bucket string
	// The keys in [From, To) may be lost; a nil To is the bucket's end.
	From, To []byte
	Why      string
}

// Pages reads a bbolt file page by page and skips unreadable pages.
type Pages struct {
	// Lost lists the unreadable pages so far.
	Lost []LostPages

	file       io.ReaderAt
	closer     io.Closer
	size       int64
	pageSize   int64
	root, high uint64
	// visited has a bit for each page, since no page may have two parents.
	visited []uint64
	// buffers holds a page for each level of a tree.
	buffers [deepest + 1][]byte
}

// OpenPages opens a database. It fails if neither of its two meta pages can be read.
func OpenPages(path string) (*Pages, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p, err := NewPages(file, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	p.closer = file
	return p, nil
}

// NewPages reads a database of size bytes, which may be a part of a file. The caller closes the file.
func NewPages(file io.ReaderAt, size int64) (*Pages, error) {
	p := &Pages{file: file, size: size}
	return p, p.readMeta()
}

// Close closes the file that OpenPages opened.
func (p *Pages) Close() {
	if p.closer != nil {
		_ = p.closer.Close()
	}
}

// HeadBytes is the length of the part of a database that holds its size.
const HeadBytes = pageHeadBytes + metaSummed + 8

// SizeOf returns how many bytes a database has that begins with head.
func SizeOf(head []byte) (int64, error) {
	if len(head) < HeadBytes {
		return 0, io.ErrUnexpectedEOF
	}
	m, ok := parseMeta(head[pageHeadBytes:HeadBytes])
	if !ok || m.high > uint64(math.MaxInt64/m.pageSize) {
		return 0, errors.New("it does not begin like a database")
	}
	return int64(m.high) * m.pageSize, nil
}

// meta is the content of a meta page.
type meta struct {
	pageSize         int64
	root, high, txid uint64
}

func parseMeta(data []byte) (m meta, ok bool) {
	sum := fnv.New64a()
	sum.Write(data[:metaSummed])
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	m = meta{pageSize: int64(u32(data[8:])), root: u64(data[16:]), high: u64(data[40:]), txid: u64(data[48:])}
	ok = u32(data) == boltMagic && u32(data[4:]) == boltVersion && u64(data[metaSummed:]) == sum.Sum64() && m.pageSize >= pageHeadBytes
	return m, ok
}

// readMeta takes the newer of the readable meta pages. The second begins where the first ends, whatever the page size.
func (p *Pages) readMeta() error {
	var newest uint64
	found := false
	for _, offset := range []int64{0, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		data := make([]byte, metaSummed+8)
		if _, err := p.file.ReadAt(data, offset+pageHeadBytes); err != nil {
			continue
		}
		m, ok := parseMeta(data)
		if !ok || offset != 0 && offset != m.pageSize {
			continue
		}
		if !found || m.txid > newest {
			found, newest = true, m.txid
			p.pageSize, p.root, p.high = m.pageSize, m.root, min(m.high, uint64(p.size/m.pageSize))
		}
	}
	if !found {
		return errors.New("neither of its two first pages can be read, which say where everything is")
	}
	p.visited = make([]uint64, p.high/64+1)
	return nil
}

// pageData is a page with its overflow, or the page inside a small bucket.
type pageData []byte

func (d pageData) flags() uint16 { return binary.LittleEndian.Uint16(d[8:]) }

func (d pageData) count() int { return int(binary.LittleEndian.Uint16(d[10:])) }

// page reads a page with its overflow.
func (p *Pages) page(id uint64, depth int) (pageData, error) {
	if id >= p.high {
		return pageData{}, fmt.Errorf("page %d is beyond the last", id)
	}
	if depth > deepest || p.visited[id/64]&(1<<(id%64)) != 0 {
		return pageData{}, fmt.Errorf("page %d belongs to two others", id)
	}
	p.visited[id/64] |= 1 << (id % 64)
	header := p.buffer(depth, p.pageSize)
	if _, err := p.file.ReadAt(header, int64(id)*p.pageSize); err != nil {
		return pageData{}, fmt.Errorf("page %d: %w", id, noEOF(err))
	}
	if got := binary.LittleEndian.Uint64(header); got != id {
		return pageData{}, fmt.Errorf("page %d holds something else", id)
	}
	length := (int64(binary.LittleEndian.Uint32(header[12:])) + 1) * p.pageSize
	if int64(id)*p.pageSize+length > p.size || length > longestPage {
		return pageData{}, fmt.Errorf("page %d: the file ends before", id)
	}
	data := header
	if length > p.pageSize {
		data = p.buffer(depth, length)
		if _, err := p.file.ReadAt(data, int64(id)*p.pageSize); err != nil {
			return pageData{}, fmt.Errorf("page %d: %w", id, noEOF(err))
		}
	}
	return pageData(data), nil
}

func (p *Pages) buffer(depth int, length int64) []byte {
	if int64(cap(p.buffers[depth])) < length {
		p.buffers[depth] = make([]byte, length)
	}
	return p.buffers[depth][:length]
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file ends before")
	}
	return err
}

// element is an entry of a page: a key and its value, or a key and the page below it.
type element struct {
	key, value []byte
	bucket     bool
	below      uint64
}

// elements parses a page. Keys that do not ascend show that it is damaged.
func elements(data pageData) (out []element, err error) {
	flags, count := data.flags(), data.count()
	if flags != branchPage && flags != leafPage {
		return nil, fmt.Errorf("it is of kind %#x", flags)
	}
	if pageHeadBytes+count*elementBytes > len(data) {
		return nil, errors.New("it has more elements than room")
	}
	out = make([]element, 0, count)
	for i := range count {
		at := pageHeadBytes + i*elementBytes
		var e element
		head, keyBytes, valueBytes, from := data[at:at+elementBytes], uint32(0), uint32(0), uint32(0)
		u32 := binary.LittleEndian.Uint32
		if flags == branchPage {
			from, keyBytes, e.below = u32(head), u32(head[4:]), binary.LittleEndian.Uint64(head[8:])
		} else {
			e.bucket = u32(head)&bucketFlag != 0
			from, keyBytes, valueBytes = u32(head[4:]), u32(head[8:]), u32(head[12:])
		}
		begin, middle := int64(at)+int64(from), int64(at)+int64(from)+int64(keyBytes)
		if end := middle + int64(valueBytes); end > int64(len(data)) {
			return nil, errors.New("an element of it lies outside")
		}
		e.key, e.value = data[begin:middle], data[middle:middle+int64(valueBytes)]
		if i > 0 && bytes.Compare(out[i-1].key, e.key) >= 0 {
			return nil, errors.New("its keys are not in order")
		}
		out = append(out, e)
	}
	return out, nil
}

// Buckets calls begin for every bucket, and visit for each of its keys in order. Key and value are valid until visit
// returns. What can't be read is added to Lost.
func (p *Pages) Buckets(begin func(bucket string) error, visit func(bucket string, key, value []byte) error) error {
	return p.walk("", p.root, nil, nil, 0, func(e element) error {
		if !e.bucket || len(e.value) < elementBytes {
			return nil
		}
		name := string(e.key)
		if err := begin(name); err != nil {
			return err
		}
		leaf := func(e element) error { return visit(name, e.key, e.value) }
		root := binary.LittleEndian.Uint64(e.value)
		if root != 0 {
			return p.walk(name, root, nil, nil, bucketDepth, leaf)
		}
		// A small bucket is stored inline: its only page is the value.
		page := pageData(e.value[elementBytes:])
		if len(page) < pageHeadBytes {
			p.Lose(name, nil, nil, errors.New("it is too short"))
			return nil
		}
		return p.leaves(name, page, nil, nil, bucketDepth, leaf)
	})
}

// Lose adds keys to Lost.
func (p *Pages) Lose(bucket string, from, to []byte, why error) {
	p.Lost = append(p.Lost, LostPages{bucket, bytes.Clone(from), bytes.Clone(to), why.Error()})
}

// walk visits the leaves below a page. Their keys must be in [from, to).
func (p *Pages) walk(bucket string, id uint64, from, to []byte, depth int, leaf func(element) error) error {
	data, err := p.page(id, depth)
	if err != nil {
		p.Lose(bucket, from, to, err)
		return nil
	}
	return p.leaves(bucket, data, from, to, depth, leaf)
}

func (p *Pages) leaves(bucket string, data pageData, from, to []byte, depth int, leaf func(element) error) error {
	all, err := elements(data)
	if err == nil && len(all) > 0 && (bytes.Compare(all[0].key, from) < 0 || to != nil && bytes.Compare(all[len(all)-1].key, to) >= 0) {
		err = errors.New("it has keys of another page")
	}
	if err != nil {
		p.Lose(bucket, from, to, fmt.Errorf("page %d: %w", binary.LittleEndian.Uint64(data), err))
		return nil
	}
	for i, e := range all {
		if data.flags() == leafPage {
			err = leaf(e)
		} else {
			end := to
			if i+1 < len(all) {
				end = all[i+1].key
			}
			err = p.walk(bucket, e.below, e.key, end, depth+1, leaf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
