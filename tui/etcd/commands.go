package etcd

import (
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The commands of the screen.
const (
	refreshID    keys.ID = "etcd.refresh"
	followID     keys.ID = "etcd.follow"
	travelID     keys.ID = "etcd.travel"
	nowID        keys.ID = "etcd.now"
	markID       keys.ID = "etcd.mark"
	formID       keys.ID = "etcd.form"
	diffID       keys.ID = "etcd.diff"
	wholeID      keys.ID = "etcd.diff-whole"
	editID       keys.ID = "etcd.edit"
	copySameID   keys.ID = "etcd.copy-command"
	compactID    keys.ID = "etcd.compact"
	cacheID      keys.ID = "etcd.cache"
	structureID  keys.ID = "etcd.structure"
	requestsID   keys.ID = "etcd.requests"
	findID       keys.ID = "etcd.find"
	findNextID   keys.ID = "etcd.find-next"
	findBeforeID keys.ID = "etcd.find-previous"
	findAcceptID keys.ID = "etcd.find-accept"
)

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	revisions := []keys.Context{inRevisions, inValue}
	return []keys.Command{
		{ID: travelID, Title: "look at etcd as at a revision", Help: "Show the whole tree as it was at a revision; esc goes back to now.", Hint: "as at",
			Contexts: panes, Keys: []string{"@"}, Enabled: func() string { return unless(s.tree.root.loaded, "etcd has not answered yet") }},
		{ID: nowID, Title: "look at etcd as it is now", Help: "Go back from an earlier revision.", Contexts: panes, Enabled: func() string { return unless(s.at > 0, "it is now") }},
		{ID: diffID, Title: "show what a revision changed", Help: "Compare the value with that of the marked revision, or of the one before.", Hint: "diff",
			Contexts: revisions, Keys: []string{"d"}, Enabled: s.hasRevision},
		{ID: markID, Title: "mark the revision", Help: "Mark the revision that others are compared with, or no longer.", Hint: "mark",
			Contexts: []keys.Context{inRevisions}, Keys: []string{"m", " "}, Enabled: s.hasRevision},
		{ID: formID, Title: "show the value in another form", Help: "The value as YAML, as JSON, as its bytes in etcd, and what it differs in.", Hint: "form",
			Contexts: revisions, Keys: []string{"v"}, Enabled: s.hasRevision},
		{ID: wholeID, Title: "show what is the same too", Help: "Show in a difference all lines, or those that differ alone.", Contexts: revisions, Keys: []string{"a"}},
		{ID: findID, Title: "find in the pane", Help: "Go to the next row that has a text.", Hint: "find", Contexts: panes, Keys: []string{"f"}},
		{ID: findNextID, Title: "find the next", Help: "Go to the next row with the text that was looked for.", Contexts: panes, Keys: []string{"n"}, Enabled: s.NothingSought},
		{ID: findBeforeID, Title: "find the one before", Help: "Go to the row before with the text that was looked for.", Contexts: panes, Keys: []string{"N"}, Enabled: s.NothingSought},
		{ID: findAcceptID, Title: "go where the text is", Help: "Leave the line, and stay where the text was found.", Hint: "go there", Contexts: []keys.Context{inFind}, Keys: []string{"enter"}},
		{ID: refreshID, Title: "read etcd again", Help: "Read all that is unfolded, and the key's history, again.", Contexts: panes, Keys: []string{"r"}},
		{ID: followID, Title: "follow what is written, or no longer", Help: "Mark what changes in etcd as it does.", Contexts: panes, Keys: []string{"F"},
			Enabled: func() string { return unless(s.at == 0, "an earlier revision is looked at, which does not change") }},
		{ID: requestsID, Title: "show the requests for the object", Help: "Go to Capture with a filter for the object that the key has.", Contexts: panes, Keys: []string{"J"}, Enabled: s.hasResource},
		{ID: cacheID, Title: "show the cache of the resource", Help: "Go to the watch cache of what the key is of.", Contexts: panes, Keys: []string{"c"}, Enabled: s.hasResource},
		{ID: structureID, Title: "show the resource in the server's map", Help: "Go to what serves the resource that the key is of.", Contexts: panes, Keys: []string{"s"}, Enabled: s.hasResource},
		{ID: editID, Title: "open the value in the editor", Help: "Open a copy of what is shown in $EDITOR. What is changed there is not written to etcd.", Contexts: revisions, Keys: []string{"E"}, Enabled: s.hasText},
		{ID: copySameID, Title: "copy the kx etcd command", Help: "Put the command that shows the same on the clipboard.", Contexts: panes, Keys: []string{"Y"}},
		{ID: compactID, Title: "compact etcd", Help: "Make etcd forget its history before the revision under the cursor, or before now. Watches that are older end with 410 Gone.",
			Contexts: panes, Keys: []string{"ctrl+k"}},
	}
}

// unless is why something can't be done, unless it can.
func unless(can bool, why string) string {
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
	if r, ok := s.under(); !ok || r.node.item.Spec.Resource == "" {
		return "the key under the cursor is of no resource"
	}
	return ""
}

// Handle does a command of the screen.
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
	return s.command(id)
}

// back undoes the mark, and then the journey to an earlier revision. It reports whether there was either.
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

// command does one of the screen's own commands.
func (s *Screen) command(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case refreshID:
		s.ends = 0
		return s.reread(), true
	case followID:
		s.following = !s.following || s.unfollowed != ""
		s.unfollowed, s.ends = "", 0
		if s.following {
			return s.reread(), true
		}
		s.unfollow()
	case travelID:
		return s.askRevision(), true
	case nowID:
		return s.travel(0), true
	case markID:
		s.mark()
		return s.fetch(), true
	case diffID:
		s.show(formDiff)
		return s.fetch(), true
	case formID:
		s.show((s.form + 1) % form(len(forms)))
		return s.fetch(), true
	case wholeID:
		s.all = !s.all
	case editID:
		return s.edit(), true
	case copySameID:
		return s.host.Copy(s.sameAs()), true
	case compactID:
		return s.askCompact(), true
	case findID:
		s.OpenLine()
	case findNextID, findBeforeID:
		return s.FindAgain(map[keys.ID]int{findNextID: 1, findBeforeID: -1}[id]), true
	case findAcceptID:
		return s.EndFind(), true
	default:
		return s.leave(id)
	}
	return nil, true
}

// leave does the commands that lead to other screens.
func (s *Screen) leave(id keys.ID) (tea.Cmd, bool) {
	r, ok := s.under()
	if !ok {
		return nil, false
	}
	spec := &r.node.item.Spec
	resource := spec.Resource
	if spec.Group != "" {
		resource += "." + spec.Group
	}
	switch id {
	case cacheID:
		return s.host.Go(screen.ToCache{Resource: resource}), true
	case structureID:
		return s.host.Go(screen.ToStructure{Group: spec.Group, Resource: spec.Resource}), true
	case requestsID:
		return s.host.Go(screen.ToRequests{Filter: filter.Of("resource", spec.Resource, "ns", spec.Namespace, "name", spec.Name)}), true
	}
	return nil, false
}

// show shows the value in a form, where it can be seen.
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

// mark makes the revision under the cursor the one that others are compared with, or no longer.
func (s *Screen) mark() {
	at := s.revisionAt()
	if s.chosen.marked == at {
		at = 0
	}
	s.chosen.marked = at
	if at != 0 {
		s.host.Say(fmt.Sprintf("revision %d is marked: d on another shows what they differ in", at))
	}
}

// open unfolds a directory, goes to a key's revisions, or to the request that wrote one.
func (s *Screen) open() (tea.Cmd, bool) {
	switch s.At() {
	case keysPart:
		r, ok := s.under()
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
		return s.host.Go(screen.ToRequest{Journey: r.Journey, Step: "etcd.txn"}), true
	default:
		return nil, false
	}
	return nil, true
}

// fold folds or unfolds the directory under the cursor, or goes into it or out of it.
func (s *Screen) fold(id keys.ID) tea.Cmd {
	r, ok := s.under()
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

// askRevision asks which moment to look at.
func (s *Screen) askRevision() tea.Cmd {
	oldest := max(s.head.Compacted, 1)
	initial := ""
	if s.At() != keysPart && s.revisionAt() > 0 {
		initial = strconv.FormatInt(max(s.revisionAt(), oldest), 10)
	}
	question := fmt.Sprintf("as at which revision, %d to %d, or -20 for twenty before now (nothing: now)?", oldest, s.head.Revision)
	return s.host.Ask(question, initial, func(answer string) tea.Cmd {
		answer = strings.TrimSpace(answer)
		revision, err := strconv.ParseInt(answer, 10, 64)
		if revision < 0 {
			revision += s.head.Revision
		}
		switch {
		case answer == "" || err == nil && revision == 0 && !strings.HasPrefix(answer, "-"):
			return s.travel(0)
		case err != nil:
			s.host.Complain(fmt.Sprintf("%q is no revision: it is a number", draw.Clean(answer)))
		case revision < oldest:
			s.host.Complain(fmt.Sprintf("etcd no longer has revision %d: it was compacted, and has %d to %d", revision, oldest, s.head.Revision))
		case revision > s.head.Revision:
			s.host.Complain(fmt.Sprintf("etcd has not come to revision %d: it is at %d", revision, s.head.Revision))
		default:
			return s.travel(revision)
		}
		return nil
	})
}

// askCompact asks whether etcd should forget its history.
func (s *Screen) askCompact() tea.Cmd {
	revision, what := int64(0), "now"
	if s.At() != keysPart && s.revisionAt() > 0 {
		revision = s.revisionAt()
		what = fmt.Sprintf("revision %d", revision)
	}
	question := "make etcd forget what was before " + what + "? Nothing brings it back; watches from before end with 410 Gone"
	return s.host.Confirm(question, func() tea.Cmd { return s.compact(revision) })
}

// edit opens what is shown in the editor.
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

// shownText is the value as it is shown, all of it.
func (s *Screen) shownText() []string {
	c := s.valueRows()
	lines := make([]string, 0, c.Rows)
	for i := range c.Rows {
		lines = append(lines, strings.TrimRight(c.Row(i).Text, " "))
	}
	return lines
}

// copy copies what is under the cursor: a key, a revision's number, or the value as it is shown.
func (s *Screen) copy() (tea.Cmd, bool) {
	switch s.At() {
	case keysPart:
		if r, ok := s.under(); ok && r.kind == keyRow {
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
