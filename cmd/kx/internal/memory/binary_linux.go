package memory

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// mapping is where a part of the binary's file is in this process' memory.
type mapping struct{ start, end uintptr }

// unmapBinary takes the binary's code and constants out of this process' memory. They are the same in its file, and the system
// puts the pages that are used again back when they are. What can't be taken out stays.
func unmapBinary() {
	for _, m := range binary() {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
	}
}

// binary finds the mappings of the binary that this process never writes; none where the system does not tell.
func binary() (found []mapping) {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(maps) { // start-end permissions offset device inode   path
		fields := bytes.Fields(line)
		if len(fields) < 6 || !bytes.HasSuffix(bytes.TrimSpace(line), []byte(name)) || bytes.IndexByte(fields[1], 'w') >= 0 {
			continue
		}
		from, to, _ := bytes.Cut(fields[0], []byte("-"))
		start, err := strconv.ParseUint(string(from), 16, 64)
		if err != nil {
			continue
		}
		end, err := strconv.ParseUint(string(to), 16, 64)
		if err != nil {
			continue
		}
		found = append(found, mapping{uintptr(start), uintptr(end)})
	}
	return found
}
