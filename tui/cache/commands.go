package cache

import (
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

func (s *Screen) Commands() []keys.Command {
	return slices.Concat(s.watchCommands(), s.FindCommands("cache"), s.readCommands())
}

// watchCommands watch, compare and lead elsewhere.
func (s *Screen) watchCommands() []keys.Command {
	return []keys.Command{
		{ID: "cache.watch", Meaning: keys.AtRevision, Contexts: panes, Hint: "watch", WhyNot: s.hasCache, Do: s.askWatch,
			Help: "Watch the resource from a revision on, as a client would, and show its events, or what 410 Gone needs."},
		{ID: "cache.watch-state", Meaning: keys.InitialState, Contexts: panes, WhyNot: s.hasCache, Do: keys.Call(s.watchState),
			Help: "Watch the resource with sendInitialEvents: the present state, a bookmark, then changes."},
		{ID: "cache.watch-stop", Meaning: keys.End, Contexts: []keys.Context{inCaches, inResult},
			WhyNot: s.whyNoWatch, Do: keys.Call(s.stopWatch),
			Help: "End the watch that you started here. Its events stay."},
		{ID: "cache.kill", Meaning: keys.End, Contexts: []keys.Context{inWatchers}, WhyNot: s.hasJourney, Do: s.askKill,
			Help: "End the watch under the cursor without a word to its client, as a broken connection would."},
		{ID: "cache.check", Meaning: keys.Differences, Contexts: panes, Hint: "check", WhyNot: s.hasCache, Do: s.check,
			Help: "Compare everything in the cache with etcd, at one revision and byte by byte."},
		{ID: "cache.object", Meaning: keys.CompareTwo, Contexts: panes, Hint: "object", WhyNot: s.hasCache, Do: s.askObject,
			Help: "Show one object as the cache has it, beside what etcd has."},
		{ID: "cache.requests", Meaning: keys.ToRequests, Contexts: panes, WhyNot: s.hasCache, Do: s.toRequests,
			Help: "Show the requests for the resource, on the screen Capture."},
		{ID: "cache.structure", Meaning: keys.ToStructure, Contexts: panes, WhyNot: s.hasCache, Do: s.toStructure,
			Help: "Show what serves the resource, on the screen Structure."},
	}
}

// readCommands read the cache, and copy its contents.
func (s *Screen) readCommands() []keys.Command {
	return []keys.Command{
		{ID: "cache.refresh", Meaning: keys.Refresh, Contexts: panes, Do: keys.Call(s.refresh),
			Help: "Ask the server now. It is asked once a second anyway."},
		{ID: "cache.edit", Meaning: keys.InEditor, Contexts: []keys.Context{inResult}, Do: s.edit,
			Help: "Open a copy of the result in $EDITOR."},
		{ID: "cache.copy-command", Meaning: keys.CopyCommand, Contexts: panes, Do: s.copyCommand,
			Help: "Copy the kx cache command that shows the same."},
	}
}

func (s *Screen) whyNoWatch() string {
	if s.stream == nil || s.watched.ended {
		return "no watch that you started here runs"
	}
	return ""
}

func (s *Screen) hasCache() string {
	if s.one == nil {
		return "no cache is chosen"
	}
	return ""
}

func (s *Screen) watcherUnder() *v1alpha1.CacheWatcher {
	if s.one == nil {
		return nil
	}
	if i := s.watchers.Cursor(); i >= 0 {
		return &s.one.Status.Watchers[i]
	}
	return nil
}

func (s *Screen) hasJourney() string {
	switch w := s.watcherUnder(); {
	case w == nil:
		return "nobody watches"
	case w.Journey == "":
		return "it is the server's own watch, or its request is not recorded"
	}
	return ""
}

// Handle implements screen.Screen. Going back from the result ends the watch.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if id == keys.Back && s.At() == resultPart && !s.Typing() && !s.Zoomed() {
		s.stopStream()
		s.report = nil
	}
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	switch id {
	case keys.Open:
		return s.open()
	case keys.Copy:
		return s.copy()
	}
	return nil, false
}

func (s *Screen) watchState() { s.startWatch(start{spec: s.one.Spec, initial: true}) }

func (s *Screen) stopWatch() { s.stream.cancel() }

func (s *Screen) refresh() {
	if s.poller != nil {
		s.poller.pollNow()
	}
}

func (s *Screen) copyCommand() tea.Cmd { return s.host.Copy(s.sameAs()) }

func (s *Screen) toRequests() tea.Cmd {
	return s.host.Go(screen.ToRequests{Filter: filter.Compose("resource", s.one.Spec.Resource, "group", s.one.Spec.Group)})
}

func (s *Screen) toStructure() tea.Cmd {
	return s.host.Go(screen.ToStructure{Group: s.one.Spec.Group, Resource: s.one.Spec.Resource})
}

// open goes into what is under the cursor.
func (s *Screen) open() (tea.Cmd, bool) {
	switch s.At() {
	case cachesPart:
		s.GoTo(watchersPart)
	case watchersPart:
		if why := s.hasJourney(); why != "" {
			s.host.Complain(s.host.Theme().Words.Phrase("can't show the watch's request: %s", why))
			return nil, true
		}
		return s.host.Go(screen.ToRequest{Journey: s.watcherUnder().Journey}), true
	default:
		return nil, false
	}
	return nil, true
}

// askWatch asks for the revision to watch from.
func (s *Screen) askWatch() tea.Cmd {
	spec, status := s.one.Spec, &s.one.Status
	question := s.host.Theme().Words.Phrase(
		"watch %s from which revision? The cache has what came after %d, etcd more (nothing: the present state first)",
		s.want, status.History.After)
	return s.host.Propose(question, strconv.FormatInt(status.Revision, 10), func(answer string) tea.Cmd {
		answer = strings.TrimSpace(answer)
		if answer != "" {
			if n, err := strconv.ParseInt(answer, 10, 64); err != nil || n < 0 {
				s.host.Complain(s.host.Theme().Words.Phrase("%q is no revision: it is a number", draw.Clean(answer)))
				return nil
			}
		}
		s.startWatch(start{spec: spec, revision: answer})
		return nil
	})
}

// startWatch starts the user's watch, in place of a running one.
func (s *Screen) startWatch(from start) {
	s.stopStream()
	s.report = nil
	s.stream = startStream(s.life, s.host, from)
	s.result.ToTop()
	s.GoTo(resultPart)
}

// askObject asks for the object to show.
func (s *Screen) askObject() tea.Cmd {
	return s.host.Ask(s.host.Theme().Words.Phrase("which object of %s? namespace/name, or a name",
		s.want), "", func(answer string) tea.Cmd {
		namespace, name, both := strings.Cut(strings.TrimSpace(answer), "/")
		if !both {
			namespace, name = "", namespace
		}
		if name == "" {
			return nil
		}
		return s.object(namespace, name)
	})
}

// askKill asks for confirmation to end the watcher under the cursor.
func (s *Screen) askKill() tea.Cmd {
	w := s.watcherUnder()
	journey, life, client := w.Journey, s.life, s.host.API()
	question := s.host.Theme().Words.Phrase("end the watch #%s of %s? Its client sees a broken connection",
		journey, s.watcherCells(w)["watcher"])
	return s.host.Confirm(draw.Clean(question), func() tea.Cmd {
		order := v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop}}
		order.APIVersion, order.Kind = v1alpha1.SchemeGroupVersion.String(), "JourneyCommand"
		return screen.Do(s.host, func() (string, error) {
			return journey, client.Create(life, api.KX+"/journeys/"+journey+"/step", &order, nil)
		}, s.noteDrop)
	})
}

func (s *Screen) noteDrop(journey string, err error) tea.Cmd {
	if err != nil {
		s.host.Complain(s.host.Theme().Words.Phrase("the watch was not ended: %s", draw.Clean(api.Reason(err))))
		return nil
	}
	s.host.Say(s.host.Theme().Words.Phrase("the watch #%s has ended", journey))
	s.refresh()
	return nil
}

// edit opens the shown text in the editor.
func (s *Screen) edit() tea.Cmd {
	return s.host.Edit([]byte(s.shownText()), ".txt", func(_ []byte, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(draw.Clean(err.Error()))
		}
		return nil
	})
}

func (s *Screen) shownText() string {
	c := s.resultRows()
	var b strings.Builder
	for i := range c.Rows {
		b.WriteString(strings.TrimRight(c.Row(i).Text, " ") + "\n")
	}
	return b.String()
}

// copy copies the row under the cursor: a cache's name, the journey of a watch, or the result.
func (s *Screen) copy() (tea.Cmd, bool) {
	text := ""
	switch s.At() {
	case cachesPart:
		text = s.want
	case watchersPart:
		if w := s.watcherUnder(); w != nil {
			text = w.Journey
		}
	default:
		text = s.shownText()
	}
	if text == "" {
		s.host.Complain("there is nothing to copy")
		return nil, true
	}
	return s.host.Copy(text), true
}
