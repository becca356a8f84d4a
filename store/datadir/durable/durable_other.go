//go:build !unix

package durable

// SyncDir does nothing: this system can't sync a directory.
func SyncDir(string) error { return nil }

// protect does nothing: removeDead removes nothing here.
func (p *Part) protect() bool { return true }

// removeDead does nothing: a locked file could not be renamed on this system.
func removeDead(string) {}
