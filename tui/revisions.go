package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

const (
	// revisionsEvery is how often the server is asked how far it is, at most, and only after something happened.
	revisionsEvery = time.Second
	revisionsWait  = 5 * time.Second
)

// revisions is how far etcd and the watch caches are, as the server said last.
type revisions struct {
	asked         time.Time
	asking, again bool // again: something happened since it was asked

	known              bool
	etcd, lag, watches int64
}

// revisionsMsg is what the server says.
type revisionsMsg struct {
	caches []v1alpha1.Cache
	err    error
}

// askRevisions asks how far the server is, after a pause: what happens meanwhile is in the answer.
func (m *model) askRevisions() tea.Cmd {
	r := &m.revisions
	if m.client.Host() == "" {
		return nil
	}
	if r.asking {
		r.again = true
		return nil
	}
	wait := time.Until(r.asked.Add(revisionsEvery))
	r.asking, r.asked = true, time.Now().Add(max(wait, 0))
	return m.guarded(func() tea.Msg {
		select {
		case <-time.After(wait):
		case <-m.ctx.Done():
			return nil
		}
		ctx, cancel := context.WithTimeout(m.ctx, revisionsWait)
		defer cancel()
		var list v1alpha1.CacheList
		err := m.client.Get(ctx, api.KX+"/caches", nil, &list)
		return revisionsMsg{list.Items, err}
	})
}

// take takes the answer. It says whether to ask once more.
func (r *revisions) take(msg revisionsMsg) (again bool) {
	again = r.again
	r.asking, r.again = false, false
	r.known = msg.err == nil && len(msg.caches) > 0
	r.etcd, r.lag, r.watches = 0, 0, 0
	for _, c := range msg.caches {
		r.etcd = max(r.etcd, c.Status.EtcdRevision)
		r.lag = max(r.lag, c.Status.Lag)
		r.watches += c.Status.Watches
	}
	return again
}

// facts are what the header says of it.
func (r *revisions) facts() []string {
	if !r.known || r.etcd == 0 {
		return nil
	}
	return []string{fmt.Sprintf("etcd rev %d", r.etcd), fmt.Sprintf("cache lag %d", r.lag), fmt.Sprintf("watches %d", r.watches)}
}
