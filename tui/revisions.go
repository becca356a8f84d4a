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

	known         bool
	etcd, watches int64
	// behind counts the caches that lack what etcd is known to have. A cache of whose resource nothing changed is at an older
	// revision than etcd and lacks nothing. One that nobody asked for has nothing to lack.
	behind int
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

// take takes the answer. It says whether to ask once more: something happened meanwhile, or a cache is behind, which nothing
// else would tell to be over.
func (r *revisions) take(msg revisionsMsg) (again bool) {
	again = r.again
	r.asking, r.again = false, false
	r.known = msg.err == nil && len(msg.caches) > 0
	r.etcd, r.watches, r.behind = 0, 0, 0
	for _, c := range msg.caches {
		r.etcd = max(r.etcd, c.Status.EtcdRevision)
		if state := c.Status.State; state != v1alpha1.CacheFresh && state != v1alpha1.CacheUninitialized {
			r.behind++
		}
		r.watches += c.Status.Watches
	}
	return again || r.behind > 0
}

// facts are what the header says of it.
func (r *revisions) facts() []string {
	if !r.known || r.etcd == 0 {
		return nil
	}
	facts := []string{fmt.Sprintf("etcd rev %d", r.etcd)}
	if r.behind > 0 {
		facts = append(facts, fmt.Sprintf("caches behind %d", r.behind))
	}
	return append(facts, fmt.Sprintf("watches %d", r.watches))
}
