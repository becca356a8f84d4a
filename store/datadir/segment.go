package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// segment is one file of the log. etcd names it by its place in the log and by the first entry that it may hold.
type segment struct {
	path            string
	sequence, first uint64
}

// segments lists a log's files in their order. Other files there are etcd's too: those allocated beforehand (.tmp) and
// copies from before a repair (.broken).
func segments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []segment
	for _, entry := range entries {
		s := segment{path: filepath.Join(dir, entry.Name())}
		if filepath.Ext(entry.Name()) != ".wal" {
			continue
		}
		if _, err := fmt.Sscanf(entry.Name(), "%016x-%016x.wal", &s.sequence, &s.first); err == nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// lastBefore is the last entry that the log has before this segment.
func (s segment) lastBefore() uint64 { return max(s.first, 1) - 1 }
