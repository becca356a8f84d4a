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
	// revisionsEvery is the shortest interval between two requests for the revisions. They are sent only after a
	// change.
	revisionsEvery = time.Second
	revisionsWait  = 5 * time.Second
)

// revisions holds the revisions of etcd and of the watch caches, from the server's last answer.
type revisions struct {
	asked         time.Time
	asking, again bool // again: something changed after the request was sent

	known         bool
	etcd, watches int64
	// behind counts the caches that lack a change which etcd has. A cache can be at an older revision than etcd
	// without lacking anything, if nothing of its resource changed. A cache that never started has nothing to lack.
	behind int
}

// revisionsMsg carries the server's answer.
type revisionsMsg struct {
	caches []v1alpha1.Cache
	err    error
}

// askRevisions requests the revisions after a pause, so that the answer covers changes during the pause.
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
	return m.guardPanic(func() tea.Msg {
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

// take stores the answer. It reports whether to ask once more: after a change in the meantime, or while a cache is
// behind, since no message announces that it has caught up.
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

// facts returns the part of the header about revisions.
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
