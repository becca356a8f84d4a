package capture

import (
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
)

// linkCommands lead to related things: revisions, caches, sources, other screens.
func (s *Screen) linkCommands() []keys.Command {
	return []keys.Command{
		{ID: "request.revision", Meaning: keys.ToEtcd, Contexts: keys.Panes, Hint: "revision", WhyNot: s.whyNoRevision, Do: s.toRevision,
			Help: "Show what the step, or else the request, wrote or read in etcd: its key on the screen etcd, at that revision."},
		{ID: "pane.find", Meaning: keys.Find, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: s.askFind,
			Help: "Go to the next row or line that has a text. After the last comes the first."},
		{ID: "detail.edit", Meaning: keys.InEditor, Contexts: keys.Panes, WhyNot: s.whyNoText, Do: s.openEditor,
			Help: "Open a copy of what Detail shows in your editor. What you change there is not kept."},
		{ID: "request.replay", Meaning: keys.Send, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: keys.Bind(s.replay, false),
			Help: "Put the request on the screen Send. There you can change it, and the same key sends it."},
		{ID: "request.replay-held", Meaning: keys.SendHeld, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: keys.Bind(s.replay, true),
			Help: "Send the request again, held at its first step. A request that can't be sent as it was is put on the screen Send."},
	}
}

func (s *Screen) whyNoText() string {
	if s.open.journey == nil {
		return "no request is open"
	}
	return ""
}

func (s *Screen) toRevision() tea.Cmd {
	to, _ := s.revision()
	return s.host.Go(to)
}

func (s *Screen) askFind() tea.Cmd {
	return screen.AskFind(s.host, s.phrase("find in %s", s.host.Theme().Words.Text(s.Context().Name)), s.found, s.find)
}

// openEditor opens a copy of the contents of Detail.
func (s *Screen) openEditor() tea.Cmd {
	text, suffix := s.detail.Text()
	return s.host.Edit([]byte(text), suffix, func(_ []byte, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(err.Error())
		}
		return nil
	})
}

// showDiff shows the changes. From another pane it goes to Detail, and switches to the step only if Diff is already
// in view.
func (s *Screen) showDiff() {
	if s.At() == layout.Detail || !s.detail.OfDiff() {
		s.detail.ShowDiff()
	}
	s.GoTo(layout.Detail)
}

// showSource shows the source of the step, or of the step that changed the field under the cursor.
func (s *Screen) showSource() {
	if step, ok := s.detail.BlamedStep(); ok && s.At() == layout.Detail {
		s.steps.SelectStep(step)
		s.showStep()
	}
	s.detail.ShowSource()
	s.GoTo(layout.Detail)
}

// followLink follows the link under the cursor of Detail.
func (s *Screen) followLink() tea.Cmd {
	to, ok := s.detail.Leads()
	switch {
	case !ok:
		s.host.Say("this line leads nowhere")
		return nil
	case to.Target != nil:
		return s.host.Go(to.Target)
	}
	s.steps.SelectStep(to.Step)
	s.GoTo(layout.Steps)
	return nil
}

// revision returns the key and revision of the step under the cursor, or else of the request.
func (s *Screen) revision() (screen.ToKey, bool) {
	if s.open.journey == nil {
		return screen.ToKey{}, false
	}
	return screen.InEtcd(s.open.journey, s.steps.Selected())
}

func (s *Screen) whyNoRevision() string {
	if s.open.journey == nil {
		return "no request is open"
	}
	if _, ok := s.revision(); !ok {
		return "the request asked etcd for nothing"
	}
	return ""
}

// find searches the pane that has the focus.
func (s *Screen) find(text string) tea.Cmd {
	s.found = text
	looks := []func(string) bool{layout.List: s.list.Find, layout.Steps: s.steps.Find, layout.Detail: s.detail.Find}
	if !looks[s.At()](text) {
		s.host.Complain(s.phrase("nothing in this pane has %s", text))
	}
	return s.sync()
}

// cacheAnswer is a watch cache for Detail, read once for a request.
type cacheAnswer struct {
	journey, name string
	cache         *v1alpha1.Cache
	note          string
}

// supply fetches the data that Detail wants: a source file, the watches of a cache.
func (s *Screen) supply() tea.Cmd {
	var cmds []tea.Cmd
	if file := s.detail.WantsSource(); file != "" {
		cmds = append(cmds, s.sources.Want(file))
		s.detail.GiveSource(s.sources.Get(file))
	}
	if of, ok := s.detail.WantsTheirs(); ok {
		cmds = append(cmds, s.sources.WantTheirs(of))
		s.detail.GiveTheirs(s.sources.Upstream(of))
	}
	if name := s.detail.WantsCache(); name != "" {
		if want := (cacheAnswer{journey: s.open.id, name: name}); s.watching.journey != want.journey || s.watching.name != name {
			want.note = s.phrase("asking who watches %s ...", name)
			s.watching = want
			cmds = append(cmds, s.askWho(want))
		}
		s.detail.GiveCache(s.watching.cache, s.watching.note)
	}
	return tea.Batch(cmds...)
}

// askWho requests a watch cache with its present watches.
func (s *Screen) askWho(want cacheAnswer) tea.Cmd {
	path := api.KX + "/caches/" + url.PathEscape(want.name)
	return screen.Get(s.host.Context(), s.host, path, nil, func(c *v1alpha1.Cache, err error) tea.Cmd {
		switch {
		case want.journey != s.watching.journey || want.name != s.watching.name:
			return nil
		case err != nil:
			s.watching.note = s.phrase("who watches %s now is not known: %s", want.name, err.Error())
		default:
			s.watching.cache, s.watching.note = c, ""
		}
		return s.supply()
	})
}
