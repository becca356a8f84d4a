package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Config configures the path of the log, its rotation and its backups. A limit of 0 is no limit.
type Config struct {
	Path string
	// MaxBytes limits the size of the file.
	MaxBytes int64
	// MaxAge and MaxBackups limit the age and the number of backups.
	MaxAge     time.Duration
	MaxBackups int
	// Compress compresses backups with gzip.
	Compress bool
	// Failed is called for each failed rotation, compression or removal.
	Failed func(error)
}

// File is an open log, safe for concurrent writes. mu guards file and size.
type File struct {
	config Config
	now    func() time.Time

	mu      sync.Mutex
	file    *os.File
	size    int64
	regular bool // not a pipe or a device, which have no backups
	rotates bool

	// tidy has a message after each rotation and at the start. It closes at the end.
	tidy  chan struct{}
	ended chan struct{} // closed when keepTidy has returned
	stop  chan struct{} // closed to interrupt a compression
}

// Open opens the log. It creates the file and its directory if they are missing.
func Open(c Config) (*File, error) { return open(c, time.Now) }

func open(c Config, now func() time.Time) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, err
	}
	f := &File{config: c, now: now, tidy: make(chan struct{}, 1), ended: make(chan struct{}), stop: make(chan struct{})}
	if err := f.begin(0o600); err != nil {
		return nil, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return nil, errors.Join(err, f.file.Close())
	}
	f.size = info.Size()
	f.regular = info.Mode().IsRegular()
	f.rotates = f.regular && c.MaxBytes > 0
	if !f.rotates {
		close(f.ended)
		return f, nil
	}
	f.tidy <- struct{}{} // backups have grown older since the last start
	go f.keepTidy()
	return f, nil
}

// begin opens the file, and creates it with mode if it is new. It does not wait for the reader of a pipe.
func (f *File) begin(mode fs.FileMode) error {
	file, err := os.OpenFile(f.config.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%w: nothing reads this pipe: start its reader first", err)
	}
	if err != nil {
		return err
	}
	f.file = file
	return nil
}

// Write writes one line. It rotates first if the file would exceed its limit.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rotates && f.size > 0 && f.size+int64(len(line)) > f.config.MaxBytes {
		if err := f.rotate(); err != nil {
			f.config.Failed(fmt.Errorf("rotate %s, which keeps growing: %w", f.config.Path, err))
		}
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	return n, err
}

// rotate renames the file and begins a new one. If that fails, the old file stays open. The caller holds mu.
func (f *File) rotate() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	// If another process has moved the file away, there is nothing to rename.
	if at, err := os.Stat(f.config.Path); err == nil && os.SameFile(info, at) {
		to, err := f.freeName()
		if err != nil {
			return err
		}
		if err := os.Rename(f.config.Path, to); err != nil {
			return err
		}
	}
	full := f.file
	if err := f.begin(info.Mode().Perm()); err != nil {
		return err
	}
	_ = full.Close() // all of it is written
	f.size = 0
	if now, err := f.file.Stat(); err == nil {
		f.size = now.Size() // another process may have created it
	}
	if err := f.file.Chmod(info.Mode().Perm()); err != nil {
		return err // the process's umask may have taken permissions away
	}
	select {
	case f.tidy <- struct{}{}:
	default: // keepTidy has a message already
	}
	return nil
}

// timeFormat is the format of a rotation's time in the name of its backup.
const timeFormat = "2006-01-02T15-04-05.000"

// zipped is the extension of compressed backups.
const zipped = ".gz"

// freeName returns a name for a new backup. Two rotations in one millisecond get different names.
func (f *File) freeName() (string, error) {
	before, after := f.affixes()
	for at := f.now().UTC(); ; at = at.Add(time.Millisecond) {
		name := filepath.Join(filepath.Dir(f.config.Path), before+at.Format(timeFormat)+after)
		taken := false
		for _, path := range []string{name, name + zipped} {
			_, err := os.Lstat(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			taken = taken || err == nil
		}
		if !taken {
			return name, nil
		}
	}
}

// affixes returns the parts of a backup's name before and after the time.
func (f *File) affixes() (before, after string) {
	base := filepath.Base(f.config.Path)
	after = filepath.Ext(base)
	return strings.TrimSuffix(base, after) + "-", after
}

// Close closes the log. Nothing may be written afterwards. A write to a pipe whose reader has stopped to read fails: it
// would never end.
func (f *File) Close() error {
	close(f.stop)
	if !f.regular {
		return f.file.Close() // without mu, which such a write holds
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.tidy)
	<-f.ended
	return f.file.Close()
}
