package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// keepTidy removes and compresses backups after each rotation.
func (f *File) keepTidy() {
	defer close(f.ended)
	for range f.tidy {
		if err := f.tidyUp(); err != nil && !errors.Is(err, errStopped) {
			f.config.Failed(fmt.Errorf("remove or compress old files of %s: %w", f.config.Path, err))
		}
	}
}

// backup is a full file that was renamed, or its compressed form.
type backup struct {
	path string // without .gz
	at   time.Time
	// plain and zipped report which of the two files exist: both, if a compression was interrupted.
	plain, zipped bool
}

// tidyUp removes the backups that are too old or too many, and compresses the others if the configuration asks for it.
func (f *File) tidyUp() error {
	backups, err := f.backups()
	if err != nil {
		return err
	}
	var errs []error
	for i, b := range backups { // the latest first
		switch {
		case f.config.MaxBackups > 0 && i >= f.config.MaxBackups, f.config.MaxAge > 0 && f.now().Sub(b.at) > f.config.MaxAge:
			errs = append(errs, b.remove())
		case f.config.Compress && b.plain:
			errs = append(errs, f.compress(b.path))
		}
	}
	return errors.Join(errs...)
}

// backups lists the renamed files of the log, the latest first. It ignores other files of the directory.
func (f *File) backups() ([]backup, error) {
	dir := filepath.Dir(f.config.Path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	before, after := f.affixes()
	var found []backup
	for _, entry := range entries {
		name, compressed := strings.CutSuffix(entry.Name(), zipped)
		text, ok := strings.CutPrefix(name, before)
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		if text, ok = strings.CutSuffix(text, after); !ok {
			continue
		}
		at, err := time.Parse(timeFormat, text)
		if err != nil {
			continue // no backup
		}
		b := backup{path: filepath.Join(dir, name), at: at, plain: !compressed, zipped: compressed}
		if i := slices.IndexFunc(found, func(other backup) bool { return other.path == b.path }); i >= 0 {
			found[i].plain, found[i].zipped = true, true
			continue
		}
		found = append(found, b)
	}
	slices.SortFunc(found, func(a, b backup) int { return b.at.Compare(a.at) })
	return found, nil
}

func (b *backup) remove() error {
	var errs []error
	if b.plain {
		errs = append(errs, os.Remove(b.path))
	}
	if b.zipped {
		errs = append(errs, os.Remove(b.path+zipped))
	}
	return errors.Join(errs...)
}

var errStopped = errors.New("the log was closed")

// compress replaces a backup by its compressed form, of the same mode. It overwrites the file of an interrupted
// attempt.
func (f *File) compress(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path+zipped, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path+zipped))
		}
	}()
	to := gzip.NewWriter(out)
	_, err = io.Copy(to, &stoppable{in, f.stop})
	if err = errors.Join(err, to.Close(), out.Chmod(info.Mode().Perm()), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Remove(path)
}

// stoppable is a reader that fails once stop closes.
type stoppable struct {
	io.Reader
	stop <-chan struct{}
}

func (s *stoppable) Read(p []byte) (int, error) {
	select {
	case <-s.stop:
		return 0, errStopped
	default:
		return s.Reader.Read(p)
	}
}
