//go:build !linux

package proc

// unmapBinary does nothing: it was tested only on Linux.
func unmapBinary() {}
