package datadir

import (
	"fmt"
	"path/filepath"
)

// Damage says why no etcd can start on a directory without loss.
type Damage struct {
	// Dir is etcd's directory, File the damaged file in it, and What its damage.
	Dir, File, What string
	// Saved says what can still be read.
	Saved string
}

// Error names, in one sentence, the file, its damage, what can be saved, and the command for that.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s is damaged: %s; %s can be saved: kx etcd salvage %s --to %s",
		d.File, d.What, d.Saved, d.Dir, filepath.Clean(d.Dir)+"-salvaged")
}

// savedText says what can be read: the database, and the part of the log that continues it.
func (d Database) savedText(from, to uint64) string {
	text := fmt.Sprintf("all up to revision %d", d.Revision)
	if d.Revision == 0 {
		text = "nothing of the database"
	}
	if to > from {
		text += fmt.Sprintf(" and entries %d to %d of the log", from+1, to)
	}
	return text
}
