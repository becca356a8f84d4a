//go:build !unix

package backup

// syncDir does nothing: this system can't sync a directory.
func syncDir(string) error { return nil }
