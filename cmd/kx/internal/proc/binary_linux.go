package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// mapping is the address range of a part of the binary's file in this process' memory.
type mapping struct{ start, end uintptr }

// unmapBinary drops the binary's code and constants from this process' memory. The file has the same content, and the
// system loads pages again when they are used. Pages that can't be dropped stay.
func unmapBinary() {
	for _, m := range binary() {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
	}
}

// binary finds the mappings of the binary's file with the same content as the file. It returns none if the system
// does not list mappings. It skips mappings that a dynamic linker wrote before it made them read-only: the file lacks
// that content, so it would be lost.
func binary() (found []mapping) {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil
	}
	var at mapping
	var ours bool
	for line := range bytes.Lines(maps) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) >= 5 && bytes.IndexByte(fields[0], '-') > 0: // start-end permissions offset device inode   path
			ours = false
			if bytes.IndexByte(fields[1], 'w') < 0 && bytes.HasSuffix(bytes.TrimSpace(line), []byte(" "+name)) {
				at, ours = parseMapping(fields[0])
			}
		case ours && len(fields) == 3 && string(fields[0]) == "Anonymous:" && string(fields[1]) == "0":
			found = append(found, at)
		}
	}
	return found
}

// parseMapping reads start-end, as the system writes it.
func parseMapping(field []byte) (m mapping, ok bool) {
	from, to, _ := bytes.Cut(field, []byte("-"))
	start, errStart := strconv.ParseUint(string(from), 16, 64)
	end, errEnd := strconv.ParseUint(string(to), 16, 64)
	return mapping{uintptr(start), uintptr(end)}, errStart == nil && errEnd == nil
}
