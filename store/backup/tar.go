package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

const (
	blockBytes = 512
	// partBytes bounds each part but the snapshot.
	partBytes = 1 << 20
	// mostParts bounds how many parts there are.
	mostParts = 64
)

// partName has the names that a part may have. None of them leads out of a directory.
var partName = regexp.MustCompile(`^(?:(?:ca|front-proxy-ca)\.(?:crt|key)|sa\.key|kubeconfig|` +
	`flags/[a-z][a-z-]{0,60}(?:\.[0-9]{1,2})?|etcd/snapshot\.db|manifest\.json|SHA256SUMS)$`)

// head is the block before a part. All blocks but those of one form are refused, so the form is the simplest: GNU's,
// which fits any size into one block.
func head(name string, size int64, made time.Time) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: made, Format: tar.FormatGNU,
	})
	if err == nil && b.Len() != blockBytes {
		err = fmt.Errorf("the name of the part %q is too long", name)
	}
	return b.Bytes(), err
}

// padding returns the number of zeros after a part of this size.
func padding(size int64) int64 { return (blockBytes - size%blockBytes) % blockBytes }

// end follows the last part.
var end = make([]byte, 2*blockBytes)

// tarWriter writes an archive.
type tarWriter struct {
	out  io.Writer
	made time.Time
	// sums is the content of the last part.
	sums bytes.Buffer
}

// part writes a part of size bytes.
func (w *tarWriter) part(name string, size int64, data io.Reader) error {
	block, err := head(name, size, w.made)
	if err != nil {
		return err
	}
	if _, err := w.out.Write(block); err != nil {
		return err
	}
	h := sha256.New()
	if n, err := io.CopyN(io.MultiWriter(w.out, h), data, size); err != nil {
		return fmt.Errorf("%s ends after %d of %d bytes: %w", name, n, size, err)
	}
	if _, err := w.out.Write(end[:padding(size)]); err != nil {
		return err
	}
	addSum(&w.sums, h.Sum(nil), name)
	return nil
}

// addSum adds a line as sha256sum writes and reads it.
func addSum(sums *bytes.Buffer, sum []byte, name string) { fmt.Fprintf(sums, "%x  %s\n", sum, name) }

func (w *tarWriter) small(name string, data []byte) error {
	return w.part(name, int64(len(data)), bytes.NewReader(data))
}

// finish writes the hashes and the end.
func (w *tarWriter) finish() error {
	if err := w.small(sumsName, bytes.Clone(w.sums.Bytes())); err != nil {
		return err
	}
	_, err := w.out.Write(end)
	return err
}

// place is where a part is in the file.
type place struct {
	name         string
	offset, size int64
	sum          []byte
}

var errCutOff = errors.New("it is cut off")

// tarReader reads an archive block by block.
type tarReader struct {
	file   io.ReaderAt
	size   int64
	offset int64
}

// block reads a block at the offset, and whether it is the end of the archive.
func (r *tarReader) block() (block []byte, last bool, err error) {
	block = make([]byte, blockBytes)
	if r.size-r.offset < blockBytes {
		return nil, false, errCutOff
	}
	if _, err := r.file.ReadAt(block, r.offset); err != nil {
		return nil, false, err
	}
	if !bytes.Equal(block, end[:blockBytes]) {
		r.offset += blockBytes
		return block, false, nil
	}
	rest := make([]byte, len(end))
	if r.size-r.offset != int64(len(end)) {
		return nil, false, errors.New("it has something behind its end, or is cut off there")
	}
	if _, err := r.file.ReadAt(rest, r.offset); err != nil {
		return nil, false, err
	}
	if !bytes.Equal(rest, end) {
		return nil, false, errors.New("it has something behind its end")
	}
	return nil, true, nil
}

// next finds the next part, and reads over it. After the last one it returns nil.
func (r *tarReader) next() (*place, error) {
	at := r.offset
	block, last, err := r.block()
	if err != nil || last {
		return nil, err
	}
	h, err := tar.NewReader(bytes.NewReader(block)).Next()
	if err != nil {
		return nil, fmt.Errorf("the header at byte %d can't be read: %w", at, err)
	}
	switch {
	case h.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("it holds %.100q, which is no plain file", h.Name)
	case !partName.MatchString(h.Name):
		return nil, fmt.Errorf("it holds %.100q, which is no part of an archive that this kx knows", h.Name)
	case h.Name != snapshotName && h.Size > partBytes:
		return nil, fmt.Errorf("its part %s has %d bytes, and no such part has more than %d", h.Name, h.Size, partBytes)
	}
	if canonical, err := head(h.Name, h.Size, h.ModTime); err != nil || !bytes.Equal(canonical, block) {
		return nil, fmt.Errorf("the header of %s is not as kx writes it", h.Name)
	}
	p := &place{name: h.Name, offset: r.offset, size: h.Size}
	if h.Size > r.size-r.offset-padding(h.Size) {
		return nil, errCutOff
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, p.offset, p.size)); err != nil {
		return nil, err
	}
	p.sum = sum.Sum(nil)
	r.offset += p.size
	zeros := make([]byte, padding(p.size))
	if _, err := io.ReadFull(io.NewSectionReader(r.file, r.offset, int64(len(zeros))), zeros); err != nil {
		return nil, err
	}
	if !bytes.Equal(zeros, end[:len(zeros)]) {
		return nil, fmt.Errorf("there is something behind its part %s", p.name)
	}
	r.offset += int64(len(zeros))
	return p, nil
}
