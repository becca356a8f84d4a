package durable

import (
	"os"
	"path/filepath"
	"strings"
)

const partSuffix = ".part"

// Part is a file that is not complete yet, beside the one that it will be.
type Part struct {
	*os.File
	// lock is another opening of the file: the part stays locked after File is closed. It is nil where files can't be
	// locked.
	lock *os.File
}

// NewPart makes an empty part of a file, and removes those that dead writers left. The name is one of its own: another
// writer to the same file, or whoever made a file of a known name, could write to it too.
func NewPart(file string) (*Part, error) {
	removeDead(file)
	dir, base := filepath.Split(file)
	for {
		f, err := os.CreateTemp(filepath.Clean(dir), "."+base+".*"+partSuffix) // mode 0600
		if err != nil {
			return nil, err
		}
		p := &Part{File: f}
		if p.protect() {
			return p, nil
		}
		// Another writer took it for a dead one's, before it was locked.
		_ = f.Close()
	}
}

// Discard closes the part and removes it. It does nothing to a part that has got the name of the file.
func (p *Part) Discard() {
	_ = p.Close()
	_ = os.Remove(p.Name())
	if p.lock != nil {
		_ = p.lock.Close()
	}
}

// isPartOf reports whether NewPart gives such names to parts of the file with this base name. A part of a.b is no part
// of a.
func isPartOf(name, base string) bool {
	middle, begins := strings.CutPrefix(name, "."+base+".")
	number, ends := strings.CutSuffix(middle, partSuffix)
	return begins && ends && number != "" && strings.Trim(number, "0123456789") == ""
}
