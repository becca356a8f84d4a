package detail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

func TestWithout(t *testing.T) {
	all := map[string]*v1alpha1.Journey{}
	for _, j := range tuitest.Recorded(t, "../testdata/journeys.json") {
		all[j.Name] = j
	}
	update, read, custom := all["rec-7"], all["rec-3"], all["rec-12"]
	if w := cacheWrites(update); len(w) != 1 || w[0] != (cacheWrite{"/registry/configmaps/default/demo", 7}) {
		t.Fatalf("%+v", w)
	}
	if cacheWrites(read) != nil || cacheName(update) != "configmaps" || cacheName(custom) != "crontabs.recorded.example.com" || cacheName(&v1alpha1.Journey{}) != "" {
		t.Errorf("%v, %q, %q", cacheWrites(read), cacheName(update), cacheName(custom))
	}
	c := &v1alpha1.Cache{Status: v1alpha1.CacheStatus{Watchers: []v1alpha1.CacheWatcher{
		{ID: 1, Journey: update.Status.Deliveries[0].Watcher, Key: "/configmaps", At: 9},
		{ID: 2, Journey: "x", Key: "/configmaps/other/", At: 9},
		{ID: 3, Journey: "x", Key: "/configmaps/default", From: 7, At: 9},
		{ID: 4, Journey: "x", Key: "/configmaps/default/", At: 6, Queued: 3},
		{ID: 5, Journey: "x", Key: "/registry/configmaps/", At: 7, LabelSelector: "app=blue"},
		{ID: 6, Key: "/configmaps", At: 7},
		{ID: 7, Journey: "x", Key: "/configmaps", At: 7},
		{ID: 8, Journey: "x", Key: "/configmaps/default/dem", At: 7},
	}}}
	var got []string
	for _, m := range missedWatchers(update, c) {
		got = append(got, fmt.Sprint(m.ID, " ", m.For, " ", m.Why))
	}
	want := []string{
		"4 true not yet: it is at revision 6, 3 events wait for its client to take them",
		"5 true its selector did not want the object, before or after: app=blue",
		"6 true it is the server's own: what it is sent is not recorded",
		"7 true it was given all up to its revision, but no record says that this event was sent",
		"2 false it watches /configmaps/other/",
		"3 false it began later: its client knew revision 7",
		"8 false it watches /configmaps/default/dem",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if missedWatchers(read, c) != nil {
		t.Error("a read has an event")
	}
}
