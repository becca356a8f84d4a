package datadir

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
)

const searchBytes = 256 << 10

var noBytes = make([]byte, searchBytes)

// resume moves to the first record between two offsets that its predecessor proves. ok is false if there is none.
//
// The sum of a record covers all records before it. So nothing proves the first record behind a gap, but its sum proves
// the next one.
func (r *records) resume(offset, to int64) (ok bool) {
	window := make([]byte, searchBytes)
	for offset = align(offset); offset < to; {
		n, err := r.file.ReadAt(window, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			// This sector can't be read; later ones may be readable.
			offset += sectorBytes
			continue
		}
		data := window[:n]
		if !bytes.Equal(data, noBytes[:n]) {
			if at, sum, ok := r.search(data, offset); ok {
				r.seek(at, sum)
				return true
			}
		}
		// The last frame of this window may continue in the next.
		offset += max(int64(n)&^(frameBytes-1)-frameBytes, frameBytes)
	}
	return false
}

// search looks for two consecutive records. The first one begins in data.
func (r *records) search(data []byte, offset int64) (second int64, sum uint32, ok bool) {
	for at := 0; at+2*frameBytes <= len(data); at += frameBytes {
		if !plausible(data[at:], r.size-offset-int64(at)) {
			continue
		}
		if second, sum, ok = r.proof(offset + int64(at)); ok {
			return second, sum, true
		}
	}
	return 0, 0, false
}

func align(offset int64) int64 { return (offset + frameBytes - 1) &^ (frameBytes - 1) }

// plausible says whether a record may begin with these bytes: its frame, its kind, and the tag of its sum.
func plausible(data []byte, rest int64) bool {
	size, padding := frame(data)
	high := data[frameBytes-1]
	return size > 4 && size+padding <= rest-frameBytes && (size+padding)%frameBytes == 0 && (high == 0 || high > 0x80 && high < 0x88) &&
		data[frameBytes] == 0x08 && data[frameBytes+1] >= metadataRecord && data[frameBytes+1] <= snapshotRecord &&
		data[frameBytes+2] == 0x10
}

// proof reports whether two consecutive records begin at offset, so that the first proves the second.
func (r *records) proof(offset int64) (second int64, sum uint32, ok bool) {
	first, second, ok := r.at(offset)
	if !ok {
		return 0, 0, false
	}
	sum = first.sum
	next, _, ok := r.at(second)
	return second, sum, ok && next.kind != sumRecord && crc32.Update(sum, castagnoli, next.data) == next.sum
}

// at reads a possible record, and says where it ends.
func (r *records) at(offset int64) (rec record, end int64, ok bool) {
	var head [frameBytes]byte
	if _, err := r.file.ReadAt(head[:], offset); err != nil {
		return rec, 0, false
	}
	size, padding := frame(head[:])
	if end = offset + frameBytes + size + padding; size == 0 || size > r.size || end > r.size {
		return rec, 0, false
	}
	data := make([]byte, size)
	if _, err := r.file.ReadAt(data, offset+frameBytes); err != nil {
		return rec, 0, false
	}
	rec, ok = parseRecord(data)
	return rec, end, ok
}
