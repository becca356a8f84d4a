package proc

import (
	"runtime"
	"testing"
)

// sink keeps what a test allocates from staying on its stack.
var sink []byte

func allocate(bytes int) {
	for range bytes >> 20 {
		sink = make([]byte, 1<<20)
	}
	sink = nil
}

// rested is the keeper of a process that has given back what its start took.
func rested() *keeper {
	k := new(keeper)
	for !k.look() {
	}
	return k
}

// TestQuiet looks at a process that works and rests in turns.
func TestQuiet(t *testing.T) {
	k := rested()
	for _, row := range []struct {
		what      string
		allocates int
		gives     bool
	}{
		{"nothing happened", 0, false},
		{"little happened", quiet / 2, false},
		{"it works", 2 * least, false},
		{"it is quiet after work", 0, true},
		{"it is still quiet", 0, false},
		{"it works a little at a time, less than is worth it", quiet / 2, false},
	} {
		allocate(row.allocates)
		if gave := k.look(); gave != row.gives {
			t.Errorf("%s: gave back memory: %t, want %t", row.what, gave, row.gives)
		}
	}
	for range 2 * least / (quiet / 2) {
		allocate(quiet / 2)
		if k.look() {
			return
		}
	}
	t.Error("it never gives back the memory of a process that works a little all the time")
}

// TestGivenBack looks at what the runtime holds on to when it has given memory back: less than what the work took.
func TestGivenBack(t *testing.T) {
	k := rested()
	sink = make([]byte, 2*least) // at once: the heap grows by as much
	sink = nil
	k.look()
	if !k.look() {
		t.Fatal("nothing was given back to the system after work")
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if held := after.HeapSys - after.HeapReleased; held >= least {
		t.Errorf("the heap takes %d KiB of the system's memory, and %d were allocated", held>>10, 2*least>>10)
	}
}
