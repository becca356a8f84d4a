package garbage

import (
	"log/slog"
	"testing"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// TestBlindTasks have failed since a value can't be read. They are tried at once when that can be read or is gone, however long their next
// pause would be.
func TestBlindTasks(t *testing.T) {
	const owner, other = "configmaps/default/owner", "configmaps/default/other"
	damaged := []byte("k8s\x00\xff\xff")
	for name, end := range map[string]feed.Pair{
		"it is gone":     {Key: owner, Revision: 9, Changed: true},
		"it can be read": {Key: owner, Value: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u"}}`), Revision: 9, Changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(&work.Kit{Decoder: decoder, Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)})
			for _, key := range []string{owner, other} {
				c.Put(feed.Pair{Key: key, Value: damaged, Revision: 1, Changed: true})
			}
			for i := range byte(3) {
				c.blind[task{collect, id{i}, id{}}] = true
			}
			c.Put(feed.Pair{Key: owner, Value: damaged, Revision: 2, Changed: true})
			c.Put(feed.Pair{Key: "configmaps/default/readable", Revision: 3, Changed: true})
			if waiting := c.State().Waiting; waiting != 0 {
				t.Errorf("%d tasks are tried again, and nothing can be read that could not", waiting)
			}
			c.Put(end)
			if waiting := c.State().Waiting; waiting != 3 || len(c.blind) != 0 {
				t.Errorf("%d tasks of 3 are tried again", waiting)
			}
		})
	}
}
