package detail

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// cacheWrite is one write of a journey.
type cacheWrite struct {
	Key      string
	Revision int64
}

// cacheWrites lists a journey's writes, in order.
func cacheWrites(j *v1alpha1.Journey) []cacheWrite {
	var all []cacheWrite
	for i := range j.Status.Steps {
		if key, revision, ok := blame.StepWrite(&j.Status.Steps[i]); ok {
			all = append(all, cacheWrite{key, revision})
		}
	}
	return all
}

// cacheName names the watch cache of a journey's resource; empty if the journey has no resource.
func cacheName(j *v1alpha1.Journey) string {
	q := &j.Spec
	if q.Resource == "" || q.Group == "" {
		return q.Resource
	}
	return q.Resource + "." + q.Group
}

// missedWatcher is a watch that did not get the event of a write.
type missedWatcher struct {
	v1alpha1.CacheWatcher
	Why string
	// For reports that the watch may have been meant to get the event.
	For bool
}

// missedWatchers lists the watches of a cache that did not get the event of a journey's write, with the reason if it is
// known; none if the journey has not exactly one write. Watches that may have been meant to get it come first. A watch
// that has ended since is missing.
func missedWatchers(j *v1alpha1.Journey, c *v1alpha1.Cache) []missedWatcher {
	writes := cacheWrites(j)
	if len(writes) != 1 {
		return nil
	}
	got := map[string]bool{}
	for _, d := range j.Status.Deliveries {
		if d.Revision == writes[0].Revision {
			got[d.Watcher] = true
		}
	}
	var near, far []missedWatcher
	for _, w := range c.Status.Watchers {
		if w.Journey != "" && got[w.Journey] {
			continue
		}
		why, isFor := missReason(&w, writes[0])
		if m := (missedWatcher{w, why, isFor}); isFor {
			near = append(near, m)
		} else {
			far = append(far, m)
		}
	}
	return append(near, far...)
}

// missReason explains why a watch did not get an event.
func missReason(w *v1alpha1.CacheWatcher, write cacheWrite) (why string, isFor bool) {
	switch {
	case !covers(w.Key, write.Key):
		return "it watches " + w.Key, false
	case w.From >= write.Revision:
		return fmt.Sprintf("it began later: its client knew revision %d", w.From), false
	case w.At < write.Revision:
		return fmt.Sprintf("not yet: it is at revision %d, %d events wait for its client to take them", w.At, w.Queued), true
	case w.LabelSelector != "" || w.FieldSelector != "":
		return "its selector did not want the object, before or after: " +
			strings.Join(nonEmpty(w.LabelSelector, w.FieldSelector), ", "), true
	case w.Journey == "":
		return "it is the server's own: what it is sent is not recorded", true
	}
	return "it was given all up to its revision, but no record says that this event was sent", true
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// covers reports whether a watch of the key or prefix watched includes key. A prefix ends at a slash.
func covers(watched, key string) bool {
	i := strings.LastIndex(key, watched)
	if watched == "" || i < 0 {
		return false
	}
	rest := key[i+len(watched):]
	return rest == "" || strings.HasSuffix(watched, "/") || rest[0] == '/'
}
