package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTraceShowInATerminal shows a journey in a wide terminal, where each step's line ends in its ID and function, and in a narrow
// one, where they would not fit.
func TestTraceShowInATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "core", "capture", "testdata", "before-reasons.kxtrace")
	for _, size := range []struct {
		w    int
		wide bool
	}{{200, true}, {80, false}} {
		command := kx(t, "trace", "show", "--file", file, "rec-16")
		m := muxOf(t, size.w, 200, command)
		shown := m.see("KV.Txn", "left with 0")
		for _, column := range []string{"etcd.txn", "etcd3.(*kv).commit"} {
			if strings.Contains(shown, column) != size.wide {
				t.Errorf("a terminal of %d columns: %q is there: %v\n%s", size.w, column, !size.wide, shown)
			}
		}
	}
}
