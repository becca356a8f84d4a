package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/datadir/durable"
)

// Part is a small file of an archive.
type Part struct {
	Name string
	Data []byte
}

// Save holds the parts of an archive.
type Save struct {
	// Live is the etcd to save.
	Live *admin.Live
	// Parts are the files beside the snapshot.
	Parts []Part
	// Describe has the facts that the caller knows: KX, Prefix, Flags and Etcd.Servers.
	Describe Manifest
	// Progress (optional) is called with the number of bytes that were written.
	Progress func(bytes int)
}

// Summary describes an archive.
type Summary struct {
	File     string   `json:"file"`
	Manifest Manifest `json:"manifest"`
	Parts    []string `json:"parts"`
	Size     int64    `json:"size"`
}

// File writes an archive that only its owner can read. It has another name in the same directory until it is complete,
// was read back and is on the disk. A file that has the name already is not replaced.
func (s *Save) File(ctx context.Context, file string) (_ *Summary, err error) {
	if _, err := os.Lstat(file); err == nil {
		return nil, isThere(file)
	}
	part, err := durable.NewPart(file)
	if err != nil {
		return nil, fmt.Errorf("save to %s: %w", file, err)
	}
	defer part.Discard() // leaves the archive alone
	saved, err := s.fill(ctx, part.File)
	if err = errors.Join(err, part.Close()); err != nil {
		return nil, fmt.Errorf("save to %s: %w", file, err)
	}
	// A link fails where a rename would replace a file that was created meanwhile. Some file systems have none.
	err = os.Link(part.Name(), file)
	if errors.Is(err, fs.ErrExist) {
		return nil, isThere(file)
	} else if err != nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return nil, err
	}
	saved.File = file
	return saved, durable.SyncDir(filepath.Dir(file))
}

func isThere(file string) error {
	return fmt.Errorf("%s is there already: remove it, or give another name", file)
}

// fill writes an archive to an empty file and reads it back.
func (s *Save) fill(ctx context.Context, f *os.File) (*Summary, error) {
	m, w, err := s.begin(f)
	if err != nil {
		return nil, err
	}
	at, size, err := s.snapshot(ctx, w, m)
	if err != nil {
		return nil, err
	}
	contents, err := admin.ReadSnapshot(ctx, io.NewSectionReader(&interruptible{ctx, f}, at, size), size)
	if err != nil {
		return nil, fmt.Errorf("the snapshot that etcd sent: %w", err)
	}
	m.Verified, m.Encryption = true, contents.Encryption
	m.Etcd.Version = contents.StorageVersion // etcd may have written it after it answered
	m.Etcd.Revision, m.Etcd.Keys = contents.Revision, contents.Keys
	if err := s.compare(ctx, m); err != nil {
		return nil, err
	}
	if err := finish(w, m); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	a, err := read(ctx, f, contents)
	if err != nil {
		return nil, fmt.Errorf("it was read back, and %w", err)
	}
	return a.summary(), nil
}

// compare asks etcd how many keys it had at the revision of the snapshot.
func (s *Save) compare(ctx context.Context, m *Manifest) error {
	keys, _, err := s.Live.Count(ctx, m.Etcd.Revision)
	if errors.Is(err, admin.ErrCompacted) {
		return nil // another client was faster
	}
	if err == nil && keys != m.Etcd.Keys {
		err = fmt.Errorf("the snapshot that etcd sent has %d keys at revision %d, and etcd has %d", m.Etcd.Keys, m.Etcd.Revision, keys)
	}
	return err
}

// Stream writes an archive where it can't be read back. etcd's own sum is verified, and the number of bytes.
func (s *Save) Stream(ctx context.Context, out io.Writer) (*Summary, error) {
	counted := &counter{out: out}
	m, w, err := s.begin(counted)
	if err != nil {
		return nil, err
	}
	contents, err := s.Live.Needs(ctx)
	if err != nil {
		return nil, err
	}
	m.Encryption, m.Etcd.Revision, m.Etcd.Keys = contents.Encryption, contents.Revision, contents.Keys
	if _, _, err := s.snapshot(ctx, w, m); err != nil {
		return nil, err
	}
	if err := finish(w, m); err != nil {
		return nil, err
	}
	saved := &Summary{File: "-", Manifest: *m, Size: counted.n, Parts: []string{snapshotName}}
	for _, part := range s.Parts {
		saved.Parts = append(saved.Parts, part.Name)
	}
	return saved, nil
}

// begin writes the small parts, which come first.
func (s *Save) begin(out io.Writer) (*Manifest, *tarWriter, error) {
	m := s.Describe
	m.Format, m.Made = format, time.Now().UTC().Truncate(time.Second)
	w := &tarWriter{out: out, made: m.Made}
	for _, part := range s.Parts {
		if len(part.Data) > partBytes || !partName.MatchString(part.Name) {
			return nil, nil, fmt.Errorf("%s can't be a part of an archive: it has %d bytes", part.Name, len(part.Data))
		}
		if err := w.small(part.Name, part.Data); err != nil {
			return nil, nil, err
		}
	}
	return &m, w, nil
}

// snapshot writes the snapshot, compares it with the sum that etcd sent behind it, and returns where it is.
func (s *Save) snapshot(ctx context.Context, w *tarWriter, m *Manifest) (at, size int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, m.Etcd.Cluster, err = s.Live.Count(ctx, 0); err != nil {
		return 0, 0, err
	}
	stream, err := s.Live.OpenSnapshot(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer stream.Close()
	m.Etcd.Version = stream.Version
	if err := datadir.CheckVersion(stream.Version); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", s.Live.Name(), err)
	}
	for _, part := range s.Parts {
		at += blockBytes + int64(len(part.Data)) + padding(int64(len(part.Data)))
	}
	checked := &hashReader{in: stream, left: stream.Size - sha256.Size, progress: s.Progress}
	if err := w.part(snapshotName, stream.Size, checked); err != nil {
		return 0, 0, err
	}
	if !bytes.Equal(checked.h.Sum(nil), checked.tail) {
		return 0, 0, errors.New("the snapshot does not have the SHA-256 that etcd sent with it")
	}
	if n, err := io.Copy(io.Discard, stream); n > 0 || err != nil {
		return 0, 0, errors.Join(errors.New("the snapshot does not end where it says"), err)
	}
	return at + blockBytes, stream.Size, nil
}

func finish(w *tarWriter, m *Manifest) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := w.small(manifestName, data); err != nil {
		return err
	}
	return w.finish()
}

// counter counts written bytes.
type counter struct {
	out io.Writer
	n   int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.n += int64(n)
	return n, err
}
