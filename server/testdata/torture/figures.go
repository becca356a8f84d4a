//go:build linux

package torture

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// memoryMost is how much memory a server may have: the objects of a round are few and small.
const memoryMost = 512 << 20

// memoryFigure is the one figure that is no sum.
const memoryFigure = "MiB of memory, at most, of one server"

// Figures are what happened in some rounds.
type Figures map[string]int

func (f Figures) add(other map[string]int) {
	for what, n := range other {
		if what == memoryFigure {
			f[what] = max(f[what], n)
		} else {
			f[what] += n
		}
	}
}

func (f Figures) String() (text string) {
	for _, what := range slices.Sorted(maps.Keys(f)) {
		text += fmt.Sprintf("%12d %s\n", f[what], what)
	}
	return text
}

// figures are what was done in the round.
func (w *world) figures() map[string]int {
	f := maps.Clone(w.counts)
	h := &w.round.history
	f["rounds"]++
	f["operations"] = len(h.Operations)
	f["deeds on lives"] = len(h.Deeds)
	f["reads of what caches have"] = len(h.Reads)
	f["lists"] = len(h.Lists)
	f["watches"] = len(h.Streams)
	f["changes in etcd"] = len(h.Log)
	for i := range h.Operations {
		if h.Operations[i].Outcome == history.Unknown {
			f["operations of unknown outcome"]++
		}
	}
	for i := range h.Streams {
		f["watch events"] += len(h.Streams[i].Events)
		if h.Streams[i].Expired {
			f["watches expired"]++
		}
	}
	for _, peak := range w.memory {
		f[memoryFigure] = max(f[memoryFigure], int(peak>>20))
	}
	return f
}

// frugal is an error if a server had more memory than it may.
func (w *world) frugal() error {
	for name, peak := range w.memory {
		if peak > memoryMost {
			return fmt.Errorf("%s had %d MiB of memory, it may have %d", name, peak>>20, memoryMost>>20)
		}
	}
	return nil
}
