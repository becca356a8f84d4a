package datadir

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// The kinds of etcd's records.
const (
	metadataRecord = iota + 1
	entryRecord
	stateRecord
	sumRecord
	snapshotRecord
)

const (
	// frameBytes is the size of the frame before a record, which gives its length. Frames begin at multiples of that
	// size.
	frameBytes = 8
	// sectorBytes is the unit that a disk writes atomically. A torn write leaves sectors of zeros.
	sectorBytes = 512
	readBytes   = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one record of the log.
type record struct {
	kind int
	// sum is the checksum of all data of the log up to here, so each record proves those before it.
	sum uint32
	// data is valid until the next record is read.
	data []byte
}

// parseRecord reads etcd's Record message without copying it.
func parseRecord(data []byte) (r record, ok bool) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return r, false
		}
		data = data[n:]
		switch {
		case kind == protowire.VarintType && (number == 1 || number == 2):
			var value uint64
			value, n = protowire.ConsumeVarint(data)
			if number == 1 {
				r.kind = int(value)
			} else {
				r.sum = uint32(value)
			}
		case kind == protowire.BytesType && number == 3:
			r.data, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return r, false
		}
		data = data[n:]
	}
	return r, r.kind >= metadataRecord && r.kind <= snapshotRecord
}

// field reads a number from an Entry, a HardState or a Snapshot: an index or a term.
func field(data []byte, wanted protowire.Number) (value uint64) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return 0
		}
		data = data[n:]
		if number == wanted && kind == protowire.VarintType {
			value, n = protowire.ConsumeVarint(data)
		} else {
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return 0
		}
		data = data[n:]
	}
	return value
}

func entryIndex(data []byte) uint64    { return field(data, 3) }
func stateCommit(data []byte) uint64   { return field(data, 3) }
func snapshotIndex(data []byte) uint64 { return field(data, 1) }

// stop describes the place in a segment behind which no record can be read.
type stop struct {
	// torn says that a write may have been interrupted here. etcd repairs that in the last segment.
	torn   bool
	reason string
}

func (s *stop) Error() string { return s.reason }

// frame parses a frame.
func frame(head []byte) (size, padding int64) {
	word := binary.LittleEndian.Uint64(head)
	if size = int64(word &^ (0xff << 56)); int64(word) < 0 {
		padding = int64(word>>56) & 7
	}
	return size, padding
}

// records reads a segment from its beginning, or from a record whose predecessor's sum is known. It ends where etcd
// would.
type records struct {
	file   *os.File
	size   int64
	in     *bufio.Reader
	sum    uint32
	buffer []byte
	// next is the offset of the next record.
	next int64
}

func openRecords(path string) (*records, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &records{file: file, size: info.Size()}
	r.seek(0, 0)
	return r, nil
}

func (r *records) close() { _ = r.file.Close() }

func (r *records) seek(offset int64, sum uint32) {
	r.next, r.sum = offset, sum
	r.in = bufio.NewReaderSize(io.NewSectionReader(r.file, offset, r.size-offset), readBytes)
}

// read reads the next record. An error is io.EOF at the end of the written part, or a *stop.
func (r *records) read() (record, error) {
	var head [frameBytes]byte
	if n, err := io.ReadFull(r.in, head[:]); n == 0 && errors.Is(err, io.EOF) || err == nil && head == [frameBytes]byte{} {
		return record{}, io.EOF
	} else if err != nil {
		return record{}, &stop{torn: errors.Is(err, io.ErrUnexpectedEOF), reason: "a record that is cut off"}
	}
	size, padding := frame(head[:])
	if size+padding > r.size-r.next-frameBytes {
		return record{}, &stop{torn: true, reason: "a record that is cut off"}
	}
	if int64(cap(r.buffer)) < size+padding {
		r.buffer = make([]byte, size+padding)
	}
	data := r.buffer[:size+padding]
	if _, err := io.ReadFull(r.in, data); err != nil {
		return record{}, &stop{reason: err.Error()}
	}
	rec, ok := parseRecord(data[:size])
	if !ok {
		return rec, &stop{torn: torn(r.next+frameBytes, data), reason: "bytes that are no record"}
	}
	if rec.kind == sumRecord {
		// The first record of a segment carries the sum of the earlier segments, which this reader may not have read.
		if r.sum != 0 && rec.sum != r.sum {
			return rec, &stop{reason: "a checksum (crc) that does not continue the one before"}
		}
		r.sum = rec.sum
	} else if sum := crc32.Update(r.sum, castagnoli, rec.data); sum != rec.sum {
		return rec, &stop{torn: torn(r.next+frameBytes, data), reason: "a wrong checksum (crc)"}
	} else {
		r.sum = sum
	}
	r.next += frameBytes + size + padding
	return rec, nil
}

// torn says whether data, which begins at offset, has a whole sector of zeros.
func torn(offset int64, data []byte) bool {
	for len(data) > 0 {
		n := min(sectorBytes-offset%sectorBytes, int64(len(data)))
		if bytes.Count(data[:n], []byte{0}) == int(n) {
			return true
		}
		data, offset = data[n:], offset+n
	}
	return false
}
