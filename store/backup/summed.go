package backup

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
)

// hashReader hashes the bytes that are read, and keeps those after the first left bytes: the sum that etcd sends.
type hashReader struct {
	in       io.Reader
	left     int64
	progress func(int)

	h    hash.Hash
	tail []byte
}

func (s *hashReader) Read(p []byte) (int, error) {
	if s.h == nil {
		s.h = sha256.New()
	}
	n, err := s.in.Read(p)
	hashed := int(min(s.left, int64(n)))
	s.h.Write(p[:hashed])
	s.left -= int64(hashed)
	s.tail = append(s.tail, p[hashed:n]...)
	if s.progress != nil {
		s.progress(n)
	}
	return n, err
}

// interruptible is a file that can't be read once ctx has ended.
type interruptible struct {
	ctx  context.Context
	file io.ReaderAt
}

func (f *interruptible) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, offset)
}
