package etcd

import (
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

func (s *Screen) Commands() []keys.Command {
	return slices.Concat(s.revisionCommands(), s.FindCommands("etcd"), s.readCommands(), s.linkCommands())
}

// revisionCommands choose revisions, and the form of a value.
func (s *Screen) revisionCommands() []keys.Command {
	revisions := []keys.Context{inRevisions, inValue}
	return []keys.Command{
		{ID: "etcd.travel", Meaning: keys.AtRevision, Contexts: panes, Hint: "as at", WhyNot: s.whyNoAnswer, Do: s.askRevision,
			Help: "Show the whole tree as it was at a revision. esc goes back to now."},
		{ID: "etcd.now", Meaning: keys.AtPresent, Contexts: panes, WhyNot: s.whyNow, Do: keys.Bind(s.travel, 0),
			Help: "Go back from an earlier revision to now."},
		{ID: "etcd.diff", Meaning: keys.Differences, Contexts: revisions, Hint: "diff", WhyNot: s.hasRevision,
			Do:   keys.Bind(s.showForm, formDiff),
			Help: "Compare the value with that of the marked revision, or else of the one before."},
		{ID: "etcd.mark", Meaning: keys.Mark, Contexts: []keys.Context{inRevisions}, Hint: "mark", WhyNot: s.hasRevision, Do: s.mark,
			Help: "Mark the revision that others are compared with, or unmark it."},
		{ID: "etcd.form", Meaning: keys.AnotherForm, Contexts: revisions, Hint: "form", WhyNot: s.hasRevision, Do: s.nextForm,
			Help: "Turn to the next form of the value: YAML, JSON, its bytes in etcd, and what it differs in."},
		{ID: "etcd.diff-whole", Meaning: keys.Unchanged, Contexts: revisions, Do: keys.Call(func() { s.all = !s.all }),
			Help: "Show all lines of a difference, or only those that differ."},
	}
}

// readCommands read, copy and compact etcd.
func (s *Screen) readCommands() []keys.Command {
	return []keys.Command{
		{ID: "etcd.refresh", Meaning: keys.Refresh, Contexts: panes, Do: s.refresh,
			Help: "Read all that is unfolded, and the key's history, again."},
		{ID: "etcd.follow", Meaning: keys.Follow, Contexts: panes, WhyNot: s.whyNoFollow, Do: s.toggleFollow,
			Help: "Watch etcd, and mark the keys that change."},
		{ID: "etcd.edit", Meaning: keys.InEditor, Contexts: []keys.Context{inRevisions, inValue}, WhyNot: s.hasText, Do: s.edit,
			Help: "Open a copy of the value in $EDITOR. What you change there is not written to etcd."},
		{ID: "etcd.copy-command", Meaning: keys.CopyCommand, Contexts: panes, Do: s.copyCommand,
			Help: "Copy the kx etcd command that shows the same."},
		{ID: "etcd.compact", Meaning: keys.Compact, Contexts: panes, Do: s.askCompact,
			Help: "Make etcd forget what was before the revision under the cursor, or before now. Older watches end with 410 Gone."},
	}
}

// linkCommands lead to other screens.
func (s *Screen) linkCommands() []keys.Command {
	return []keys.Command{
		{ID: "etcd.requests", Meaning: keys.ToRequests, Contexts: panes, WhyNot: s.hasResource, Do: s.toRequests,
			Help: "Show the requests for the object of the key, on the screen Capture."},
		{ID: "etcd.cache", Meaning: keys.ToCache, Contexts: panes, WhyNot: s.hasResource, Do: s.toCache,
			Help: "Show the watch cache of the key's resource, on the screen Cache."},
		{ID: "etcd.structure", Meaning: keys.ToStructure, Contexts: panes, WhyNot: s.hasResource, Do: s.toStructure,
			Help: "Show what serves the key's resource, on the screen Structure."},
	}
}

func (s *Screen) whyNoAnswer() string {
	return reasonUnless(s.tree.root.loaded, s.host.Theme().Words.Phrase("etcd has not answered yet"))
}

func (s *Screen) whyNow() string {
	return reasonUnless(s.at > 0, s.host.Theme().Words.Phrase("it is now"))
}

func (s *Screen) whyNoFollow() string {
	return reasonUnless(s.at == 0, s.host.Theme().Words.Phrase("the screen shows an earlier revision, which does not change"))
}

// reasonUnless returns why, or "" if can is set.
func reasonUnless(can bool, why string) string {
	if can {
		return ""
	}
	return why
}

func (s *Screen) hasRevision() string {
	if s.revisionUnder() == nil {
		return "no key is chosen, or its history is not there"
	}
	return ""
}

func (s *Screen) hasText() string {
	if len(s.shownText()) == 0 {
		return "no value is shown"
	}
	return ""
}

func (s *Screen) hasResource() string {
	if r, ok := s.selectedRow(); !ok || r.node.item.Spec.Resource == "" {
		return "the key under the cursor is of no resource"
	}
	return ""
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	switch id {
	case keys.Back:
		return s.back()
	case keys.Open:
		return s.open()
	case keys.Copy:
		return s.copy()
	case keys.Left, keys.Right:
		if s.At() == keysPart {
			return s.fold(id), true
		}
	}
	return nil, false
}

// back removes the mark, or else returns from an earlier revision to the present. It reports whether there was
// either.
func (s *Screen) back() (tea.Cmd, bool) {
	switch {
	case s.chosen != nil && s.chosen.marked != 0:
		s.chosen.marked = 0
		return s.fetch(), true
	case s.at > 0:
		s.host.Say("back to now")
		return s.travel(0), true
	}
	return nil, false
}

// refresh reads etcd again, and restarts a failed watch.
func (s *Screen) refresh() tea.Cmd {
	s.ends = 0
	return s.reread()
}

// toggleFollow starts or stops following writes. It retries a watch that failed.
func (s *Screen) toggleFollow() tea.Cmd {
	s.following = !s.following || s.unfollowed != ""
	s.unfollowed, s.ends = "", 0
	if s.following {
		return s.reread()
	}
	s.unfollow()
	return nil
}

func (s *Screen) nextForm() tea.Cmd { return s.showForm((s.form + 1) % form(len(forms))) }

func (s *Screen) showForm(f form) tea.Cmd {
	s.show(f)
	return s.fetch()
}

func (s *Screen) copyCommand() tea.Cmd { return s.host.Copy(s.sameAs()) }

func (s *Screen) toRequests() tea.Cmd {
	r, _ := s.selectedRow()
	spec := &r.node.item.Spec
	return s.host.Go(screen.ToRequests{Filter: filter.Compose("resource", spec.Resource, "ns", spec.Namespace, "name", spec.Name)})
}

func (s *Screen) toCache() tea.Cmd {
	r, _ := s.selectedRow()
	resource := r.node.item.Spec.Resource
	if group := r.node.item.Spec.Group; group != "" {
		resource += "." + group
	}
	return s.host.Go(screen.ToCache{Resource: resource})
}

func (s *Screen) toStructure() tea.Cmd {
	r, _ := s.selectedRow()
	return s.host.Go(screen.ToStructure{Group: r.node.item.Spec.Group, Resource: r.node.item.Spec.Resource})
}

// show shows the value in a form, and brings it into view.
func (s *Screen) show(f form) {
	s.form = f
	s.text.ToTop()
	switch {
	case s.Area(valuePart).W > 0 || s.Zoomed():
	case s.At() == revisionsPart:
		s.GoTo(valuePart)
	default:
		s.Bring(valuePart)
	}
}

// mark marks the revision under the cursor, or unmarks it.
func (s *Screen) mark() tea.Cmd {
	at := s.revisionAt()
	if s.chosen.marked == at {
		at = 0
	}
	s.chosen.marked = at
	if at != 0 {
		s.host.Say(s.host.Theme().Words.Phrase("revision %d is marked: %s on another shows what they differ in",
			at, keys.Differences.Key()))
	}
	return s.fetch()
}

// open unfolds a directory, goes to a key's revisions, or to the request that wrote one.
func (s *Screen) open() (tea.Cmd, bool) {
	switch s.At() {
	case keysPart:
		r, ok := s.selectedRow()
		switch {
		case !ok:
			return nil, true
		case r.kind == moreRow:
			return s.read(r.node, true), true
		case r.kind == messageRow:
			return s.read(r.node, false), true
		case r.node.directory():
			if r.node.open {
				return s.fold(keys.Left), true
			}
			return s.unfold(r.node), true
		}
		s.GoTo(revisionsPart)
	case revisionsPart:
		r := s.revisionUnder()
		if r == nil {
			return nil, true
		}
		if r.Journey == "" {
			s.host.Complain("which request wrote it is not known: another server's, or one that is forgotten")
			return nil, true
		}
		return s.host.Go(screen.ToRequest{Journey: r.Journey, Step: steps.EtcdTxn.String()}), true
	default:
		return nil, false
	}
	return nil, true
}

// fold folds or unfolds the directory under the cursor, or goes into it or out of it.
func (s *Screen) fold(id keys.ID) tea.Cmd {
	r, ok := s.selectedRow()
	if !ok {
		return nil
	}
	n := r.node
	switch {
	case id == keys.Right && r.kind == keyRow && n.directory() && !n.open:
		return s.unfold(n)
	case id == keys.Right && r.kind == keyRow && n.directory():
		s.keys.SetCursor(s.tree.position(n.key()) + 1)
	case id == keys.Right && r.kind == keyRow:
		s.GoTo(revisionsPart)
		return nil
	case id == keys.Left && r.kind == keyRow && n.directory() && n.open:
		n.open = false
		s.tree.flatten()
	case id == keys.Left && r.kind != keyRow && n.parent != nil:
		s.keys.SetCursor(s.tree.position(n.key()))
	case id == keys.Left && n.parent != nil && n.parent.parent != nil:
		s.keys.SetCursor(s.tree.position(n.parent.key()))
	}
	return s.choose()
}

// askRevision asks for the revision to look at.
func (s *Screen) askRevision() tea.Cmd {
	oldest := max(s.head.Compacted, 1)
	initial := ""
	if s.At() != keysPart && s.revisionAt() > 0 {
		initial = strconv.FormatInt(max(s.revisionAt(), oldest), 10)
	}
	question := s.host.Theme().Words.Phrase("as at which revision, %d to %d, or -20 for twenty before now (nothing: now)?",
		oldest, s.head.Revision)
	return s.host.Propose(question, initial, func(answer string) tea.Cmd {
		answer = strings.TrimSpace(answer)
		revision, err := strconv.ParseInt(answer, 10, 64)
		if revision < 0 {
			revision += s.head.Revision
		}
		switch {
		case answer == "" || err == nil && revision == 0 && !strings.HasPrefix(answer, "-"):
			return s.travel(0)
		case err != nil:
			s.host.Complain(s.host.Theme().Words.Phrase("%q is no revision: it is a number", draw.Clean(answer)))
		case revision < oldest:
			s.host.Complain(s.host.Theme().Words.Phrase("etcd no longer has revision %d: it was compacted, and has %d to %d",
				revision, oldest, s.head.Revision))
		case revision > s.head.Revision:
			s.host.Complain(s.host.Theme().Words.Phrase("etcd has not come to revision %d: it is at %d", revision, s.head.Revision))
		default:
			return s.travel(revision)
		}
		return nil
	})
}

// askCompact asks for confirmation to compact etcd's history.
func (s *Screen) askCompact() tea.Cmd {
	revision, what := int64(0), "now"
	if s.At() != keysPart && s.revisionAt() > 0 {
		revision = s.revisionAt()
		what = s.host.Theme().Words.Phrase("revision %d", revision)
	}
	question := s.host.Theme().Words.Phrase(
		"make etcd forget what was before %s? Nothing brings it back; watches from before end with 410 Gone", what)
	return s.host.Confirm(question, func() tea.Cmd { return s.compact(revision) })
}

// edit opens the shown value in the editor.
func (s *Screen) edit() tea.Cmd {
	lines := s.shownText()
	suffix := map[form]string{formYAML: ".yaml", formJSON: ".json", formHex: ".hex", formDiff: ".diff"}[s.form]
	text := strings.Join(lines, "\n") + "\n"
	return s.host.Edit([]byte(text), suffix, func(edited []byte, err error) tea.Cmd {
		switch {
		case err != nil:
			s.host.Complain(draw.Clean(err.Error()))
		case string(edited) != text:
			s.host.Say("it was a copy: what you changed in it is not in etcd")
		}
		return nil
	})
}

// shownText returns all lines of the shown value.
func (s *Screen) shownText() []string {
	c := s.valueRows()
	lines := make([]string, 0, c.Rows)
	for i := range c.Rows {
		lines = append(lines, strings.TrimRight(c.Row(i).Text, " "))
	}
	return lines
}

// copy copies the key under the cursor, a revision's number, or the shown value.
func (s *Screen) copy() (tea.Cmd, bool) {
	switch s.At() {
	case keysPart:
		if r, ok := s.selectedRow(); ok && r.kind == keyRow {
			return s.host.Copy(r.node.exact()), true
		}
	case revisionsPart:
		if at := s.revisionAt(); at > 0 {
			return s.host.Copy(strconv.FormatInt(at, 10)), true
		}
	default:
		if lines := s.shownText(); len(lines) > 0 {
			return s.host.Copy(strings.Join(lines, "\n") + "\n"), true
		}
	}
	s.host.Complain("there is nothing to copy")
	return nil, true
}
