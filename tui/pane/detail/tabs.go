package detail

import (
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
)

// tab is one of the things that the pane can show.
type tab int

const (
	stepTab tab = iota
	diffTab
	sourceTab
	objectTab
	etcdTab
	timingTab
	watchersTab
	requestTab
)

var tabNames = [...]string{"Step", "Diff", "Source", "Object", "etcd", "Timing", "Watchers", "Request"}

// tabs are the names of the tabs; the open one is in brackets. Where there is no room for all, those next to the open one
// are seen.
func (p *Pane) tabs() string {
	w := p.w - 2
	first, last := 0, len(tabNames)
	width := func() int {
		n := 0
		for _, name := range tabNames[first:last] {
			n += len(name) + 2
		}
		return n
	}
	for width()+2 > w && last-first > 1 {
		if last-1-int(p.tab) >= int(p.tab)-first {
			last--
		} else {
			first++
		}
	}
	var b strings.Builder
	if first > 0 {
		b.WriteString(p.look().Dim("…"))
	}
	for i := first; i < last; i++ {
		if tab(i) == p.tab {
			b.WriteString(p.look().Tab("[" + tabNames[i] + "]"))
		} else {
			b.WriteString(p.look().Dim(" " + tabNames[i] + " "))
		}
	}
	if last < len(tabNames) {
		b.WriteString(p.look().Dim("…"))
	}
	return draw.Fit(b.String(), w)
}
