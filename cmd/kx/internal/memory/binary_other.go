//go:build !linux

package memory

// unmapBinary does nothing: it was tested only on Linux.
func unmapBinary() {}
