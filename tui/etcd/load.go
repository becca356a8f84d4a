package etcd

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

const (
	keysPath = api.KX + "/keys"
	// pageKeys is the number of rows in a page of a directory.
	pageKeys = 500
	// pagesMost limits the pages that are read on the way to a target key.
	pagesMost = 40
)

// exact returns a node's key with etcd's bytes: the key in the object is cleaned for display.
func (n *node) exact() string {
	if n.parent == nil {
		return ""
	}
	key, err := v1alpha1.KeyOfName(n.item.Name)
	if err != nil {
		return n.key()
	}
	return key
}

// read reads a directory anew, or its next page.
func (s *Screen) read(n *node, more bool) tea.Cmd {
	if n.loading {
		return nil
	}
	n.loading = true
	s.tree.flatten()
	query := url.Values{"limit": {strconv.Itoa(pageKeys)}, "prefix": {n.exact()}}
	if more {
		query.Set("continue", n.next)
	} else if s.at > 0 {
		query.Set("revision", strconv.FormatInt(s.at, 10))
	}
	generation := s.generation
	return screen.Get(s.life, s.host, keysPath, query, func(list *v1alpha1.KeyList, err error) tea.Cmd {
		if generation != s.generation {
			return nil
		}
		n.loading = false
		if err != nil {
			return s.failed(n, more, err)
		}
		return s.take(n, more, list)
	})
}

// reread reads all unfolded directories anew. Answers to earlier requests are dropped.
func (s *Screen) reread() tea.Cmd {
	s.generation++
	s.unfollow()
	s.tree.root.forget()
	var cmds []tea.Cmd
	for _, n := range s.tree.unfolded() {
		n.loading = false
		cmds = append(cmds, s.read(n, false))
	}
	if s.chosen != nil {
		cmds = append(cmds, s.tell())
	}
	return tea.Batch(cmds...)
}

func (s *Screen) Retry() tea.Cmd {
	if !s.seen {
		return nil // all is read again when it is
	}
	s.unfollowed, s.ends = "", 0
	if c := s.chosen; c != nil {
		maps.DeleteFunc(c.values, func(_ int64, v *value) bool { return v.err != "" })
	}
	return s.reread()
}

// take stores a list of a directory: its next page, or all of it anew.
func (s *Screen) take(n *node, more bool, list *v1alpha1.KeyList) tea.Cmd {
	revision, _ := strconv.ParseInt(list.ResourceVersion, 10, 64)
	under, known := s.selectedRow()
	first := !s.tree.root.loaded
	s.tree.fill(n, list, revision, more)
	s.head = list.Etcd
	s.tree.flatten()
	s.stay(under, known)
	cmds := []tea.Cmd{s.lead()}
	if now, ok := s.selectedRow(); known && ok && under.shows(s.chosen) && !now.shows(s.chosen) {
		cmds = append(cmds, s.choose()) // its row is gone
	}
	if n == s.tree.root {
		if first {
			cmds = append(cmds, s.openFirst())
		}
		s.follow(revision)
	}
	if s.chosen == nil && s.want == "" {
		cmds = append(cmds, s.choose())
	}
	return tea.Batch(cmds...)
}

// shows reports whether the row is the key of a selection.
func (r row) shows(c *selection) bool {
	return c != nil && r.kind == keyRow && r.node.key() == c.key
}

// failed records why a directory could not be read.
func (s *Screen) failed(n *node, more bool, err error) tea.Cmd {
	if api.Code(err) == http.StatusGone && s.at == 0 && more {
		return s.read(n, false) // its first page is of a revision that is gone meanwhile
	}
	if n.err = screen.Trouble(err); n.err == screen.NoAnswer {
		n.err = "no answer" // there may be one in each row
	}
	if s.at > 0 {
		n.children, n.next = nil, "" // they are of another revision
	}
	s.tree.flatten()
	if s.at > 0 && api.Code(err) == http.StatusGone {
		s.host.Complain(n.err)
	}
	return nil
}

// openFirst unfolds the largest directory after the first read of the tree: an API server keeps its keys there.
func (s *Screen) openFirst() tea.Cmd {
	largest := -1
	for i, r := range s.tree.rows {
		if r.kind == keyRow && r.node.directory() && (largest < 0 || r.node.item.Status.Keys > s.tree.rows[largest].node.item.Status.Keys) {
			largest = i
		}
	}
	if largest < 0 || s.want != "" {
		return nil
	}
	s.keys.SetCursor(largest)
	return s.unfold(s.tree.rows[largest].node)
}

// unfold opens a directory, and reads it the first time.
func (s *Screen) unfold(n *node) tea.Cmd {
	n.open = true
	var cmd tea.Cmd
	if !n.loaded {
		cmd = s.read(n, false)
	}
	s.tree.flatten()
	return cmd
}

// lead moves on toward the target key, as far as the tree is known.
func (s *Screen) lead() tea.Cmd {
	if s.want == "" {
		return nil
	}
	n := s.tree.deepest(s.want)
	switch {
	case n.key() == s.want:
		s.keys.SetCursor(s.tree.position(s.want))
		s.want = ""
	case n.loading:
	case !n.loaded || !n.open:
		return s.unfold(n)
	case n.next != "" && len(n.children) < pagesMost*pageKeys && s.want > n.children[len(n.children)-1].key():
		return s.read(n, true)
	default:
		s.host.Say(s.host.Theme().Words.Phrase("etcd has no key %s%s; here is what is left of its history", draw.Clean(s.want), s.asAt()))
		s.keys.SetCursor(max(s.tree.position(n.key()), 0))
		s.want = ""
	}
	return nil
}

// selection is the chosen key, whose revisions and values are shown.
type selection struct {
	key, name string
	ctx       context.Context
	cancel    context.CancelFunc

	loading bool
	stale   bool // it changed while its history was on the way
	history v1alpha1.KeyHistoryStatus
	known   bool   // there is a history
	err     string // why it failed
	// wanted is the revision that the cursor goes to once the history is there; 0 is the newest. asked is the
	// revision of the target.
	wanted, asked int64
	// marked is the revision to compare others with; 0 compares each with the one before.
	marked int64
	values map[int64]*value
}

// valuesMost limits the values of a key that are kept.
const valuesMost = 16

// pick chooses a key.
func (s *Screen) pick(key, name string, revision int64) tea.Cmd {
	if s.chosen != nil && s.chosen.key == key {
		if revision != 0 {
			s.chosen.wanted, s.chosen.asked = revision, revision
			s.seekWanted()
			s.checkArrival()
		}
		return s.fetch()
	}
	s.drop()
	ctx, cancel := context.WithCancel(s.life)
	s.chosen = &selection{key: key, name: name, ctx: ctx, cancel: cancel, wanted: revision, asked: revision, values: map[int64]*value{}}
	s.revisions.ToTop()
	s.text.ToTop()
	return s.tell()
}

// drop clears the choice.
func (s *Screen) drop() {
	if s.chosen != nil {
		s.chosen.cancel()
	}
	s.chosen = nil
}

// tell requests the history of the chosen key.
func (s *Screen) tell() tea.Cmd {
	c := s.chosen
	if c.stale = c.loading; c.stale {
		return nil
	}
	c.loading = true
	return screen.Get(c.ctx, s.host, keysPath+"/"+url.PathEscape(c.name)+"/history", nil, func(h *v1alpha1.KeyHistory, err error) tea.Cmd {
		if c != s.chosen {
			return nil
		}
		c.loading = false
		return s.heard(h, err)
	})
}

// heard stores the history of the chosen key.
func (s *Screen) heard(h *v1alpha1.KeyHistory, err error) tea.Cmd {
	c := s.chosen
	if err != nil {
		c.err, c.known = screen.Trouble(err), false
		return nil
	}
	if c.stale {
		return s.tell()
	}
	at := s.revisionAt()
	if !c.known && c.wanted == 0 {
		c.wanted = s.at
	} else if c.known && c.wanted == 0 && s.revisions.Cursor() > 0 {
		c.wanted = at // a cursor on an older revision stays there
	}
	c.history, c.known, c.err = h.Status, true, ""
	s.seekWanted()
	s.checkArrival()
	return s.fetch()
}

// checkArrival reports it if the revision of the target does not exist.
func (s *Screen) checkArrival() {
	c := s.chosen
	if !c.known || c.asked == 0 {
		return
	}
	if s.revisionAt() != c.asked {
		s.host.Say(s.host.Theme().Words.Phrase("etcd no longer has what was written at revision %d", c.asked))
	}
	c.asked = 0
}

// fetch requests the values that are shown and not loaded yet.
func (s *Screen) fetch() tea.Cmd {
	c := s.chosen
	if c == nil || !c.known {
		return nil
	}
	wanted := []int64{s.revisionAt()}
	if s.form == formDiff {
		if base, ok := s.base(); ok {
			wanted = append(wanted, base)
		}
	}
	var cmds []tea.Cmd
	for _, revision := range wanted {
		r := c.revision(revision)
		if r == nil || r.Operation == "delete" || c.values[revision] != nil {
			continue
		}
		if len(c.values) >= valuesMost {
			maps.DeleteFunc(c.values, func(r int64, _ *value) bool { return !slices.Contains(wanted, r) })
		}
		c.values[revision] = &value{loading: true}
		cmds = append(cmds, s.ask(c, revision))
	}
	return tea.Batch(cmds...)
}

// ask requests a value. It also formats the value as text, since a large one is slow and nothing waits on that
// goroutine.
func (s *Screen) ask(c *selection, revision int64) tea.Cmd {
	client, query := s.host.API(), url.Values{"revision": {strconv.FormatInt(revision, 10)}}
	return s.host.Do(func() func() tea.Cmd {
		var k v1alpha1.Key
		err := client.Get(c.ctx, keysPath+"/"+url.PathEscape(c.name), query, &k)
		v := valueOf(k, err)
		if v.err == "" {
			v.text(formYAML)
		}
		return func() tea.Cmd {
			if c == s.chosen && c.values[revision] != nil {
				c.values[revision] = v
			}
			return nil
		}
	})
}

// revision returns the history's entry for a revision; nil if there is none.
func (c *selection) revision(n int64) *v1alpha1.KeyRevision {
	for i := range c.history.Revisions {
		if c.history.Revisions[i].Revision == n {
			return &c.history.Revisions[i]
		}
	}
	return nil
}

// compact makes etcd discard the history before a revision.
func (s *Screen) compact(revision int64) tea.Cmd {
	ctx, client := s.life, s.host.API()
	order := v1alpha1.Compaction{Spec: v1alpha1.CompactionSpec{Revision: revision}}
	order.APIVersion, order.Kind = v1alpha1.SchemeGroupVersion.String(), "Compaction"
	return screen.Do(s.host, func() (*v1alpha1.Compaction, error) {
		done := &v1alpha1.Compaction{}
		return done, client.Create(ctx, api.KX+"/compactions", &order, done)
	}, func(done *v1alpha1.Compaction, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(s.host.Theme().Words.Phrase("etcd was not compacted: %s", draw.Clean(api.Reason(err))))
			return nil
		}
		s.host.Say(s.host.Theme().Words.Phrase("etcd has forgotten what was before revision %d, in %s",
			done.Status.Revision, micros(done.Status.TookMicros)))
		return s.reread()
	})
}
