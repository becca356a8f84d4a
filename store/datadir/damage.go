package datadir

import (
	"fmt"
	"path/filepath"
)

// Damage is what keeps an etcd from starting on a directory without loss.
type Damage struct {
	// Dir is etcd's directory, File the file in it that is damaged, What what is wrong with it.
	Dir, File, What string
	// Saved is what can be read.
	Saved string
}

// Error is one sentence: the file, what is wrong, what can be saved, and by which command.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s is damaged: %s; %s can be saved: kx etcd salvage %s --to %s",
		d.File, d.What, d.Saved, d.Dir, filepath.Clean(d.Dir)+"-salvaged")
}

// saved says what of a directory can be read: the database, and what of the log is beyond it.
func (d Database) saved(from, to uint64) string {
	text := fmt.Sprintf("all up to revision %d", d.Revision)
	if d.Revision == 0 {
		text = "nothing of the database"
	}
	if to > from {
		text += fmt.Sprintf(" and entries %d to %d of the log", from+1, to)
	}
	return text
}
