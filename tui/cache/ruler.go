package cache

import (
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// ruler draws the range of a cache's events in w cells: = for revisions whose events it all has, . for revisions that
// only etcd has. Below stand the watches at their revisions: ^, or their number.
func ruler(c *v1alpha1.Cache, w int) []string {
	s := &c.Status
	left, right := fmt.Sprintf("window  %d [", s.History.After), fmt.Sprintf("] %d   etcd %d   lag %d", s.Revision, s.EtcdRevision, s.Lag)
	room := max(w-draw.Width(left)-draw.Width(right), 8)
	first, last := s.History.After, max(s.EtcdRevision, s.Revision)
	cell := func(revision int64) int {
		if last <= first {
			return 0
		}
		return max(min(int(float64(revision-first)/float64(last-first)*float64(room-1)), room-1), 0)
	}
	bar := []byte(strings.Repeat(".", room))
	for i := range cell(s.Revision) + 1 {
		bar[i] = '='
	}
	if last == s.Revision {
		bar = []byte(strings.Repeat("=", room))
	}
	at := make([]int, room)
	for _, watcher := range s.Watchers {
		at[cell(watcher.At)]++
	}
	var marks strings.Builder
	for _, n := range at {
		switch {
		case n == 0:
			marks.WriteByte(' ')
		case n == 1:
			marks.WriteByte('^')
		case n < 10:
			fmt.Fprint(&marks, n)
		default:
			marks.WriteByte('#')
		}
	}
	return []string{
		left + string(bar) + right,
		strings.Repeat(" ", draw.Width(left)) + marks.String(),
	}
}

// window describes how far back the cache answers watches by itself.
func window(c *v1alpha1.Cache, zone *time.Location) string {
	h := &c.Status.History
	text := fmt.Sprintf("older than %d comes from etcd; %d events, %s of %s", h.After, h.Events,
		draw.Bytes(h.Bytes), draw.Bytes(h.MostBytes))
	if h.Oldest != nil {
		text += ", the oldest of " + h.Oldest.In(zone).Format(time.TimeOnly)
	}
	return text + fmt.Sprintf("; kept are %ds of them, at least %d, at most %d", h.WindowSeconds, h.LeastEvents, h.MostEvents)
}

// gauge draws the fill level of a queue, in four cells between brackets.
func gauge(queued, buffer int32) string {
	const cells = 4
	if buffer <= 0 {
		return "[" + strings.Repeat("?", cells) + "]"
	}
	full := int((int64(queued)*cells + int64(buffer) - 1) / int64(buffer))
	full = max(min(full, cells), 0)
	return "[" + strings.Repeat("#", full) + strings.Repeat(" ", cells-full) + "]"
}
