package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/kx-apiserver/kx/store/admin"
)

// Archive is an archive that was verified from end to end. It can be read until the context of Open ends.
type Archive struct {
	Manifest Manifest

	path     string
	size     int64
	file     io.ReaderAt
	closer   io.Closer
	parts    []place
	contents *admin.Contents
}

// useAnother ends the errors about archives that can't be used.
const useAnother = ": use another backup"

// Is reports whether a file begins as an archive does. If it does not, the caller takes the file for a snapshot, whose
// reader refuses anything else.
func Is(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	begin := make([]byte, blockBytes)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	if bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) {
		return false, fmt.Errorf("%s is compressed: unpack it with gunzip, and give what comes out", path)
	}
	const magicAt, magic = 257, "ustar"
	name, _, _ := bytes.Cut(begin[:100], []byte{0}) // damage may have hit the magic alone
	return n == blockBytes && (string(begin[magicAt:magicAt+len(magic)]) == magic || partName.Match(name)), nil
}

// Open opens an archive and verifies all of it. The caller closes it.
func Open(ctx context.Context, path string) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := read(ctx, f, nil)
	switch {
	case err == nil:
		a.path, a.closer = path, f
		return a, nil
	case errors.Is(err, errNewer):
		err = fmt.Errorf("%s: %w: use that kx, or a newer one", path, err)
	case ctx.Err() != nil:
		err = fmt.Errorf("read %s: %w", path, context.Cause(ctx))
	default:
		err = fmt.Errorf("%s is damaged or no archive of kx: %w%s", path, err, useAnother)
	}
	return nil, errors.Join(err, f.Close())
}

// read verifies an archive. contents are the contents of its snapshot if they are known; otherwise it reads them.
func read(ctx context.Context, f *os.File, contents *admin.Contents) (*Archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readAll(ctx, f, info.Size(), contents)
}

func readAll(ctx context.Context, file io.ReaderAt, size int64, contents *admin.Contents) (*Archive, error) {
	a := &Archive{file: &interruptible{ctx, file}, size: size, contents: contents}
	if err := a.readParts(); err != nil {
		return nil, err
	}
	manifest := a.part(manifestName)
	data, err := a.small(manifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, err
	}
	a.Manifest = *m
	if a.contents == nil {
		snapshot := a.part(snapshotName)
		in := io.NewSectionReader(a.file, snapshot.offset, snapshot.size)
		if a.contents, err = admin.ReadSnapshot(ctx, in, snapshot.size); err != nil {
			return nil, fmt.Errorf("its snapshot can't be read: %w", err)
		}
	}
	return a, a.compare()
}

// readParts reads all parts, and compares them with the hashes in the last one. After it, the parts that every archive
// has are there.
func (a *Archive) readParts() error {
	r := &tarReader{file: a.file, size: a.size}
	var sums bytes.Buffer
	for {
		p, err := r.next()
		if err != nil {
			return err
		}
		if p == nil {
			return errCutOff // the hashes are missing
		}
		if a.part(p.name) != nil {
			return fmt.Errorf("it holds %s twice", p.name)
		}
		if a.parts = append(a.parts, *p); len(a.parts) > mostParts {
			return fmt.Errorf("it has more than %d parts", mostParts)
		}
		if p.name == sumsName {
			break
		}
		addSum(&sums, p.sum, p.name)
	}
	for _, name := range []string{snapshotName, manifestName} {
		if a.part(name) == nil {
			return fmt.Errorf("its part %s is missing", name)
		}
	}
	if p, err := r.next(); err != nil {
		return err
	} else if p != nil {
		return fmt.Errorf("it holds %s behind its last part", p.name)
	}
	listed, err := a.small(a.part(sumsName))
	if err != nil {
		return err
	}
	return compareSums(listed, sums.Bytes())
}

// compareSums returns an error that names the first part whose hash differs from the listed one.
func compareSums(listed, found []byte) error {
	if bytes.Equal(listed, found) {
		return nil
	}
	theirs, ours := bytes.Split(listed, []byte("\n")), bytes.Split(found, []byte("\n"))
	for i, line := range ours {
		if i >= len(theirs) || !bytes.Equal(line, theirs[i]) {
			if _, name, ok := bytes.Cut(line, []byte("  ")); ok {
				return fmt.Errorf("its part %s is not what %s says", name, sumsName)
			}
		}
	}
	return fmt.Errorf("%s lists other parts than there are", sumsName)
}

// compare compares the manifest with the snapshot. An unverified manifest is from the moment before the snapshot, so
// its revision is a lower bound and nothing else in it can be checked.
func (a *Archive) compare() error {
	m, c := &a.Manifest.Etcd, a.contents
	switch {
	case a.Manifest.Verified && m.Version != c.StorageVersion:
		return fmt.Errorf("its snapshot is of etcd %q, and its manifest says %q", c.StorageVersion, m.Version)
	case a.Manifest.Verified && (m.Revision != c.Revision || m.Keys != c.Keys) || m.Revision > c.Revision:
		return fmt.Errorf("its snapshot has %d keys at revision %d, and its manifest says %d at %d", c.Keys, c.Revision, m.Keys, m.Revision)
	}
	return nil
}

// part finds a part, nil if it is missing.
func (a *Archive) part(name string) *place {
	if i := slices.IndexFunc(a.parts, func(p place) bool { return p.name == name }); i >= 0 {
		return &a.parts[i]
	}
	return nil
}

// small reads a part other than the snapshot into memory: tarReader bounds its size.
func (a *Archive) small(p *place) ([]byte, error) {
	data := make([]byte, p.size)
	_, err := a.file.ReadAt(data, p.offset)
	if errors.Is(err, io.EOF) && p.size == 0 {
		err = nil
	}
	return data, err
}

// Close closes the file.
func (a *Archive) Close() error { return a.closer.Close() }

// Parts returns the names of the parts without the snapshot, the manifest and the hashes.
func (a *Archive) Parts() (names []string) {
	for _, p := range a.parts {
		if p.name != snapshotName && p.name != manifestName && p.name != sumsName {
			names = append(names, p.name)
		}
	}
	return names
}

// Summary describes the archive. The counts come from the snapshot, because an unverified manifest has those of the
// moment before.
func (a *Archive) Summary() *Summary {
	s := a.summary()
	s.Manifest.Etcd.Revision, s.Manifest.Etcd.Keys, s.Manifest.Encryption = a.contents.Revision, a.contents.Keys, a.contents.Encryption
	return s
}

func (a *Archive) summary() *Summary {
	return &Summary{File: a.path, Manifest: a.Manifest, Parts: append([]string{snapshotName}, a.Parts()...), Size: a.size}
}
