//go:build !linux

package memory

// unmapBinary does nothing: only Linux has been tried.
func unmapBinary() {}
