package etcd

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
)

// eventsMost limits the buffered events. On overflow the watch ends: reading everything again would not help a screen
// that can't keep up.
const eventsMost = 2000

// endsMost limits how often in a row a watch may end without an event.
const endsMost = 3

// event is a change of a key from the watch.
type event struct {
	kind string
	item v1alpha1.Key
}

// follower is one watch of all keys, on a goroutine of its own. mu guards the fields below it.
type follower struct {
	cancel  context.CancelFunc
	changed func()

	mu     sync.Mutex
	events []event
	lost   int // the number of dropped events
	ended  bool
	err    error
}

// follow watches all keys from a revision on.
func (s *Screen) follow(revision int64) {
	s.unfollow()
	if !s.following || s.at > 0 || !s.seen {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	f := &follower{cancel: cancel, changed: s.host.Changed}
	s.follower, s.unfollowed = f, ""
	client := s.host.API()
	go func() {
		defer s.host.Guard()
		err := client.Watch(ctx, keysPath, url.Values{"resourceVersion": {strconv.FormatInt(revision, 10)}}, f.add)
		f.end(err)
	}()
}

// unfollow stops the watch.
func (s *Screen) unfollow() {
	if s.follower != nil {
		s.follower.cancel()
	}
	s.follower = nil
}

func (f *follower) add(e api.Event) error {
	var item v1alpha1.Key
	if err := json.Unmarshal(e.Object, &item); err != nil {
		return err
	}
	f.mu.Lock()
	if len(f.events) < eventsMost {
		f.events = append(f.events, event{e.Type, item})
	} else {
		f.lost++
	}
	f.mu.Unlock()
	f.changed()
	return nil
}

func (f *follower) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.mu.Unlock()
	f.changed()
}

// drain takes the events of the watch.
func (s *Screen) drain() tea.Cmd {
	f := s.follower
	if f == nil {
		return nil
	}
	f.mu.Lock()
	events, lost, ended, err := f.events, f.lost, f.ended, f.err
	f.events, f.lost = nil, 0
	f.mu.Unlock()
	if lost > 0 {
		s.unfollow()
		s.unfollowed = s.host.Theme().Words.Phrase("more than %d changes came at once", eventsMost)
		return nil
	}
	under, known := s.selectedRow()
	again := false
	for _, e := range events {
		s.tree.change(e.kind, e.item)
		s.head.Revision = max(s.head.Revision, e.item.Status.ModRevision)
		again = again || s.chosen != nil && s.chosen.key == e.item.Spec.Key
	}
	if len(events) > 0 {
		s.ends = 0
		s.tree.flatten()
		s.stay(under, known)
	}
	var cmds []tea.Cmd
	if again {
		cmds = append(cmds, s.tell())
	}
	if ended {
		cmds = append(cmds, s.endWatch(err))
	}
	return tea.Batch(cmds...)
}

// endWatch handles the end of a watch: servers end each after a while, and a watch that fell behind has missed events.
func (s *Screen) endWatch(err error) tea.Cmd {
	s.unfollow()
	s.ends++
	switch {
	case err != nil && api.Code(err) != http.StatusGone:
		s.unfollowed = screen.Trouble(err)
	case s.ends > endsMost:
		s.unfollowed = s.host.Theme().Words.Phrase("the server ends the watch at once")
	default:
		return s.reread()
	}
	return nil
}
