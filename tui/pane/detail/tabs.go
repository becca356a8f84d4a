package detail

import (
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
)

// Tab is a view of the pane.
type Tab int

// The tabs.
const (
	StepTab Tab = iota
	DiffTab
	SourceTab
	ObjectTab
	EtcdTab
	TimingTab
	WatchersTab
	RequestTab
)

var tabNames = [...]string{"Step", "Diff", "Source", "Object", "etcd", "Timing", "Watchers", "Request"}

// FindTab returns the tab with an English name.
func FindTab(name string) (Tab, bool) {
	i := slices.Index(tabNames[:], name)
	return Tab(max(i, 0)), i >= 0
}

// tabName returns the translated name of a tab.
func (p *Pane) tabName(t Tab) string { return p.look().Words.Text(tabNames[t]) }

// tabsInView returns the visible tabs, from first to before last: all, or if they do not fit, those around the open
// one.
func (p *Pane) tabsInView() (first, last int) {
	w := p.w - 2
	first, last = 0, len(tabNames)
	width := func() int {
		n := 0
		for t := first; t < last; t++ {
			n += draw.Width(p.tabName(Tab(t))) + 2
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
	return first, last
}

// tabAt returns the tab whose name is at a column of the pane.
func (p *Pane) tabAt(x int) (Tab, bool) {
	first, last := p.tabsInView()
	at := 1 // the frame
	if first > 0 {
		at++
	}
	for i := first; i < last; i++ {
		end := at + draw.Width(p.tabName(Tab(i))) + 2
		if x >= at && x < end {
			return Tab(i), true
		}
		at = end
	}
	return 0, false
}

// tabs draws the names of the tabs; the open one is in brackets.
func (p *Pane) tabs() string {
	first, last := p.tabsInView()
	var b strings.Builder
	if first > 0 {
		b.WriteString(p.look().Dim("…"))
	}
	for i := first; i < last; i++ {
		if Tab(i) == p.tab {
			b.WriteString(p.look().Tab("[" + p.tabName(Tab(i)) + "]"))
		} else {
			b.WriteString(p.look().Dim(" " + p.tabName(Tab(i)) + " "))
		}
	}
	if last < len(tabNames) {
		b.WriteString(p.look().Dim("…"))
	}
	return draw.Fit(b.String(), p.w-2)
}
