package proc

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestUnmapBinary reads all of the binary and takes it out of memory again.
func TestUnmapBinary(t *testing.T) {
	if len(binary()) == 0 {
		t.Fatal("the binary's mappings were not found")
	}
	for _, m := range binary() {
		const populateRead = 22 // MADV_POPULATE_READ, since Linux 5.14
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, populateRead); errno != 0 {
			t.Skipf("the system can't read the whole binary into memory: %v", errno)
		}
	}
	before := resident(t)
	unmapBinary()
	after := resident(t)
	t.Logf("%d KiB before, %d KiB after", before, after)
	if after >= before {
		t.Errorf("%d KiB of the binary are in memory; before there were %d", after, before)
	}
}

// TestWrittenPagesStay writes into a mapping of the binary and then takes the right to write away, as a dynamic linker does with
// the addresses it has found.
func TestWrittenPagesStay(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	written, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(written) }()
	written[0]++
	want := written[0]
	if err := syscall.Mprotect(written, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	unmapBinary()
	if written[0] != want {
		t.Error("what was written is lost")
	}
}

// resident is how much of the binary this process has in memory, in KiB.
func resident(t *testing.T) (sum int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	ours := make(map[string]bool)
	for _, m := range binary() {
		ours[fmt.Sprintf("%08x-%08x", m.start, m.end)] = true
	}
	counts := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		first, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case strings.Contains(first, "-"):
			counts = ours[first]
		case counts && first == "Rss:":
			var kb int
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				t.Fatal(err)
			}
			sum += kb
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}
