package capture

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/source"
)

// captureForm is the form that kx can open again.
const captureForm = "ndjson"

// savedAs lists the forms for saving requests: the file ending, a title, and help.
var savedAs = []struct {
	ending, title, help string
	// all offers the form for all requests of the list too.
	all bool
}{
	{"html", "a page", "any browser opens it, without scripts, and so do kx tui -r and kx trace", true},
	{"md", "Markdown", "for an issue: the story, the layers, the changes", false},
	{"svg", "a drawing", "the steps as they are on the screen", false},
	{captureForm, "a capture", "for kx tui -r and kx trace", true},
}

// selection lists the requests to save. Either ids has their IDs, or both has two that are beside each other.
type selection struct {
	ids  []string
	both []*v1alpha1.Journey
}

func (w selection) size() int { return len(w.ids) + len(w.both) }

// chooseForm offers the forms for saving the request under the cursor, and all of the list.
func (s *Screen) chooseForm() tea.Cmd {
	name, all := s.list.Selected().Name, s.listedIDs()
	choices := s.choicesFor(s.phrase("request %s", name), selection{ids: []string{name}})
	if len(all) > 1 {
		choices = append(choices, s.choicesFor(s.phrase("all %d of the list", len(all)), selection{ids: all})...)
	}
	return s.host.Choose(screen.Menu{Title: s.phrase("Save"), Choices: choices})
}

// SaveShown offers the forms for saving what another screen shows: one request, or two beside each other.
func (s *Screen) SaveShown(shown ...*v1alpha1.Journey) tea.Cmd {
	what, w := s.phrase("request %s", shown[0].Name), selection{ids: []string{shown[0].Name}}
	if len(shown) == 2 {
		what, w = s.phrase("both requests"), selection{both: shown}
	}
	return s.host.Choose(screen.Menu{Title: s.phrase("Save"), Choices: s.choicesFor(what, w)})
}

// choicesFor returns a choice for each form that requests can have.
func (s *Screen) choicesFor(what string, w selection) (choices []screen.Choice) {
	words := s.host.Theme().Words
	for _, f := range savedAs {
		if w.both != nil && f.ending == captureForm || len(w.ids) > 1 && !f.all {
			continue
		}
		c := screen.Choice{Title: s.phrase("%s as %s", what, words.Text(f.title)),
			Help: words.Text(f.help), Do: func() tea.Cmd { return s.save(w, f.ending) }}
		if s.options.Export == nil && f.ending != captureForm {
			c.Why = s.phrase("this program has no such form")
		}
		choices = append(choices, c)
	}
	return choices
}

// save asks for a file name, and saves requests there in a form.
func (s *Screen) save(w selection, form string) tea.Cmd {
	name := "kx-" + time.Now().In(s.host.Zone()).Format("20060102-150405") + "." + form
	return s.host.Ask(s.phrase("save to"), name, func(file string) tea.Cmd {
		if file == "" {
			s.host.Complain("nothing is saved: the file has no name")
			return nil
		}
		if absolute, err := filepath.Abs(file); err == nil {
			file = absolute
		}
		return screen.Do(s.host, func() (int, error) { return s.saveTo(file, form, w) }, func(saved int, err error) tea.Cmd {
			switch {
			case err != nil:
				s.host.Complain(s.phrase("nothing is saved: %s", err.Error()))
			case saved < w.size():
				s.host.Say(s.phrase("saved %d requests in %s; the server has forgotten %d", saved, file, w.size()-saved))
			case form == captureForm || form == "html":
				s.host.Say(s.phrase("saved %d requests in %s: kx tui -r opens it", saved, file))
			case w.both != nil:
				s.host.Say(s.phrase("saved both requests in %s", file))
			default:
				s.host.Say(s.phrase("saved the request in %s", file))
			}
			return nil
		})
	})
}

func (s *Screen) saveTo(file, form string, w selection) (saved int, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(f)
	if form == captureForm {
		saved, err = s.write(s.host.Context(), out, w.ids)
	} else {
		saved, err = s.export(s.host.Context(), out, form, w)
	}
	if err = errors.Join(err, out.Flush(), f.Close()); err != nil {
		os.Remove(file)
	}
	return saved, err
}

// write writes a capture. It leaves out journeys that the server no longer has.
func (s *Screen) write(ctx context.Context, out io.Writer, ids []string) (saved int, err error) {
	w, err := capture.NewWriter(out, s.host.API().Host(), time.Now())
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		j, err := s.session.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			continue
		}
		if err != nil {
			return saved, err
		}
		if err := w.Write(j); err != nil {
			return saved, err
		}
		saved++
	}
	return saved, nil
}

// export writes a document. It leaves out journeys that the server no longer has, unless the screen shows them.
func (s *Screen) export(ctx context.Context, out io.Writer, form string, w selection) (saved int, err error) {
	e := Export{
		Form: form, Server: s.host.API().Host(), Journeys: w.both, Both: w.both != nil, Language: s.host.Theme().Words,
		Others: map[string][]*v1alpha1.Journey{},
	}
	for _, id := range w.ids {
		j, err := s.session.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			continue
		}
		if err != nil {
			return 0, err
		}
		e.Journeys = append(e.Journeys, j)
	}
	for _, j := range e.Journeys {
		if e.Others[j.Name], err = s.session.Related(ctx, j); err != nil {
			return 0, err
		}
	}
	if s.host.API().Absent() == "" {
		e.Files = source.Reader(ctx, s.host.API())
	}
	return len(e.Journeys), s.options.Export(out, &e)
}

// listedIDs returns the IDs of the requests in the list.
func (s *Screen) listedIDs() []string {
	ids := make([]string, s.ring.Len())
	for i := range ids {
		ids[i] = s.ring.At(i).Name
	}
	return ids
}
