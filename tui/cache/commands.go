package cache

import (
	"fmt"
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

// The commands of the screen.
const (
	watchID      keys.ID = "cache.watch"
	watchStateID keys.ID = "cache.watch-state"
	stopID       keys.ID = "cache.watch-stop"
	checkID      keys.ID = "cache.check"
	objectID     keys.ID = "cache.object"
	refreshID    keys.ID = "cache.refresh"
	killID       keys.ID = "cache.kill"
	requestsID   keys.ID = "cache.requests"
	structureID  keys.ID = "cache.structure"
	editID       keys.ID = "cache.edit"
	copySameID   keys.ID = "cache.copy-command"
	findID       keys.ID = "cache.find"
	findNextID   keys.ID = "cache.find-next"
	findBeforeID keys.ID = "cache.find-previous"
	findAcceptID keys.ID = "cache.find-accept"
)

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	return []keys.Command{
		{ID: watchID, Title: "start a watch from a revision", Help: "Watch the resource as a client would, from a revision on, and see its events, or what 410 Gone needs.", Hint: "watch",
			Contexts: panes, Keys: []string{"w"}, Enabled: s.hasCache},
		{ID: watchStateID, Title: "start a watch with the present state", Help: "Watch the resource with sendInitialEvents: the state first, a bookmark behind it, then changes.",
			Contexts: panes, Keys: []string{"W"}, Enabled: s.hasCache},
		{ID: stopID, Title: "stop the watch", Help: "End the watch that was started here; its events stay.", Contexts: panes, Keys: []string{"x"}, Enabled: func() string {
			if s.stream == nil || s.watched.ended {
				return "none that was started here runs"
			}
			return ""
		}},
		{ID: checkID, Title: "check the cache against etcd", Help: "Compare all that the cache has with etcd, at one revision and byte by byte.", Hint: "check",
			Contexts: panes, Keys: []string{"t"}, Enabled: s.hasCache},
		{ID: objectID, Title: "show an object in the cache and in etcd", Help: "Show one object as the cache has it beside what etcd has.", Hint: "object",
			Contexts: panes, Keys: []string{"o"}, Enabled: s.hasCache},
		{ID: killID, Title: "end the watcher", Help: "End the watch under the cursor without a word to its client, as a broken connection would.",
			Contexts: []keys.Context{inWatchers}, Keys: []string{"K"}, Enabled: s.hasJourney},
		{ID: requestsID, Title: "show the requests for the resource", Help: "Go to Capture with a filter for the resource.", Contexts: panes, Keys: []string{"J"}, Enabled: s.hasCache},
		{ID: structureID, Title: "show the resource in the server's map", Help: "Go to what serves the resource.", Contexts: panes, Keys: []string{"s"}, Enabled: s.hasCache},
		{ID: refreshID, Title: "ask again", Help: "Ask the server now, and not only once a second.", Contexts: panes, Keys: []string{"r"}},
		{ID: findID, Title: "find in the pane", Help: "Go to the next row that has a text.", Hint: "find", Contexts: panes, Keys: []string{"f"}},
		{ID: findNextID, Title: "find the next", Help: "Go to the next row with the text that was looked for.", Contexts: panes, Keys: []string{"n"}, Enabled: s.NothingSought},
		{ID: findBeforeID, Title: "find the one before", Help: "Go to the row before with the text that was looked for.", Contexts: panes, Keys: []string{"N"}, Enabled: s.NothingSought},
		{ID: findAcceptID, Title: "go where the text is", Help: "Leave the line, and stay where the text was found.", Hint: "go there", Contexts: []keys.Context{inFind}, Keys: []string{"enter"}},
		{ID: editID, Title: "open the result in the editor", Help: "Open a copy of what is shown below in $EDITOR.", Contexts: []keys.Context{inResult}, Keys: []string{"E"}},
		{ID: copySameID, Title: "copy the kx cache command", Help: "Put the command that shows the same on the clipboard.", Contexts: panes, Keys: []string{"Y"}},
	}
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

// Handle does a command of the screen. Back from the result ends the watch.
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
	return s.command(id)
}

// command does one of the screen's own commands.
func (s *Screen) command(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case watchID:
		return s.askWatch(), true
	case watchStateID:
		s.startWatch(start{spec: s.one.Spec, initial: true})
	case stopID:
		s.stream.cancel()
	case checkID:
		return s.check(), true
	case objectID:
		return s.askObject(), true
	case killID:
		return s.askKill(), true
	case requestsID:
		return s.host.Go(screen.ToRequests{Filter: filter.Of("resource", s.one.Spec.Resource, "group", s.one.Spec.Group)}), true
	case structureID:
		return s.host.Go(screen.ToStructure{Group: s.one.Spec.Group, Resource: s.one.Spec.Resource}), true
	case refreshID:
		if s.poller != nil {
			s.poller.now()
		}
	case findID:
		s.OpenLine()
	case findNextID, findBeforeID:
		return s.FindAgain(map[keys.ID]int{findNextID: 1, findBeforeID: -1}[id]), true
	case findAcceptID:
		return s.EndFind(), true
	case editID:
		return s.edit(), true
	case copySameID:
		return s.host.Copy(s.sameAs()), true
	default:
		return nil, false
	}
	return nil, true
}

// open goes into what is under the cursor.
func (s *Screen) open() (tea.Cmd, bool) {
	switch s.At() {
	case cachesPart:
		s.GoTo(watchersPart)
	case watchersPart:
		if why := s.hasJourney(); why != "" {
			s.host.Complain("can't show the watch's request: " + why)
			return nil, true
		}
		return s.host.Go(screen.ToRequest{Journey: s.watcherUnder().Journey}), true
	default:
		return nil, false
	}
	return nil, true
}

// askWatch asks from where to watch.
func (s *Screen) askWatch() tea.Cmd {
	spec, status := s.one.Spec, &s.one.Status
	question := fmt.Sprintf("watch %s from which revision? The cache has what came after %d, etcd more (nothing: the present state first)", s.want, status.History.After)
	return s.host.Ask(question, strconv.FormatInt(status.Revision, 10), func(answer string) tea.Cmd {
		answer = strings.TrimSpace(answer)
		if answer != "" {
			if n, err := strconv.ParseInt(answer, 10, 64); err != nil || n < 0 {
				s.host.Complain(fmt.Sprintf("%q is no revision: it is a number", draw.Clean(answer)))
				return nil
			}
		}
		s.startWatch(start{spec: spec, revision: answer})
		return nil
	})
}

// startWatch starts the user's watch, in place of the one that there is.
func (s *Screen) startWatch(from start) {
	s.stopStream()
	s.report = nil
	s.stream = startStream(s.life, s.host, from)
	s.result.ToTop()
	s.GoTo(resultPart)
}

// askObject asks which object to show.
func (s *Screen) askObject() tea.Cmd {
	return s.host.Ask("which object of "+s.want+"? namespace/name, or a name", "", func(answer string) tea.Cmd {
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

// askKill asks whether to end the watcher under the cursor.
func (s *Screen) askKill() tea.Cmd {
	w := s.watcherUnder()
	journey, life, client := w.Journey, s.life, s.host.API()
	question := fmt.Sprintf("end the watch #%s of %s? Its client sees a broken connection", journey, s.watcherCells(w)["watcher"])
	return s.host.Confirm(draw.Clean(question), func() tea.Cmd {
		order := v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop}}
		order.APIVersion, order.Kind = v1alpha1.SchemeGroupVersion.String(), "JourneyCommand"
		return screen.Do(s.host, func() (string, error) {
			return journey, client.Create(life, api.KX+"/journeys/"+journey+"/step", &order, nil)
		}, s.dropped)
	})
}

func (s *Screen) dropped(journey string, err error) tea.Cmd {
	if err != nil {
		s.host.Complain("the watch was not ended: " + draw.Clean(api.Reason(err)))
		return nil
	}
	s.host.Say("the watch #" + journey + " has ended")
	if s.poller != nil {
		s.poller.now()
	}
	return nil
}

// edit opens what is shown in the editor.
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

// copy copies what is under the cursor: a cache's name, the journey of a watch, or the result.
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
