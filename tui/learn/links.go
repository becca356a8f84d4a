package learn

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/again"
)

// link is a reference of the lesson that the screen beside it can show.
type link struct {
	part int
	bad  bool // something is not as it was expected
	// journey is the request, and step the ID of its step, which may be empty.
	journey, step, tab string
	// target is the link's destination, if it is not the request.
	target screen.Target
	// source is the function, if it is known.
	source *screen.ToSource
}

// readingLink is a step whose function is worth reading, once it is found.
type readingLink struct {
	partRequest
	step *v1alpha1.Step
	err  error
	id   string
}

// partRequest is a request of a part. whole is nil where its name is enough.
type partRequest struct {
	journey string
	whole   *v1alpha1.Journey
}

// find returns the newest request of a run that matches a filter.
func (s *Screen) find(ctx context.Context, of, filter string, whole bool) (partRequest, error) {
	name, err := s.play.Find(ctx, of, filter)
	if err != nil || !whole {
		return partRequest{journey: name}, err
	}
	j := &v1alpha1.Journey{}
	if err := s.host.API().Get(ctx, api.KX+"/journeys/"+name, nil, j); err != nil {
		return partRequest{}, err
	}
	return partRequest{name, j}, nil
}

// show opens the request of a part on the screen beside the lesson.
func (s *Screen) show(part lesson.Show) tea.Cmd {
	i, e := s.next, s.at()
	if part.Open == "" {
		e.state, s.next = done, i+1
		var cmd tea.Cmd
		if part.Screen != "" {
			cmd = s.host.Go(screen.ToScreen{Name: screen.Name(part.Screen)})
		}
		return tea.Batch(cmd, s.proceed())
	}
	whole := part.Screen != "" && screen.Name(part.Screen) != screen.Capture
	find := func(ctx context.Context) (partRequest, error) { return s.find(ctx, part.Of, part.Open, whole) }
	return start(s, s.phrase("looks for the request that the lesson shows"), i, find, func(f partRequest, err error) tea.Cmd {
		if err != nil {
			e.state, e.err = failed, err
			s.reveal()
			return nil
		}
		e.state, e.journey, e.target, s.next = done, f.journey, target(part, f), i+1
		return tea.Batch(s.host.Go(e.target), s.proceed())
	})
}

// target returns the destination of a part that shows a request.
func target(part lesson.Show, f partRequest) screen.Target {
	if f.whole == nil {
		return screen.ToRequest{Journey: f.journey, Step: part.Step, Tab: part.Tab}
	}
	step := slices.IndexFunc(f.whole.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == part.Step })
	spec := &f.whole.Spec
	switch screen.Name(part.Screen) {
	case screen.Story:
		return screen.ToStory{Journey: f.whole, Step: step}
	case screen.Send:
		to, _ := again.Replay(f.whole, false)
		return to
	case screen.Cache:
		resource := spec.Resource
		if spec.Group != "" {
			resource += "." + spec.Group
		}
		return screen.ToCache{Resource: resource}
	case screen.Structure:
		return screen.ToStructure{Group: spec.Group, Resource: spec.Resource}
	case screen.Etcd:
		if to, ok := screen.InEtcd(f.whole, step); ok {
			return to
		}
	}
	return screen.ToScreen{Name: screen.Name(part.Screen)}
}

// read finds the steps whose functions are worth reading.
func (s *Screen) read(part lesson.Reading) tea.Cmd {
	i, e := s.next, s.at()
	find := func(ctx context.Context) ([]readingLink, error) {
		var all []readingLink
		for _, id := range part.Steps {
			r := readingLink{id: id}
			if r.partRequest, r.err = s.find(ctx, part.Of, "step:"+id, true); r.err == nil {
				for k := range r.whole.Status.Steps {
					if step := &r.whole.Status.Steps[k]; step.ID == id {
						r.step = step
						break
					}
				}
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			all = append(all, r)
		}
		return all, nil
	}
	return start(s, s.phrase("looks for the functions that ran"), i, find, func(all []readingLink, err error) tea.Cmd {
		if err != nil {
			e.state, e.err = failed, err
			s.reveal()
			return nil
		}
		e.state, e.reading, s.next = done, all, i+1
		return s.proceed()
	})
}

func (s *Screen) whyNoLink() string {
	if s.selectedLink() == nil {
		return "the lesson has shown no request yet"
	}
	return ""
}

// selectedLink returns the link that the keys act on, or nil.
func (s *Screen) selectedLink() *link {
	s.lay()
	if s.link < 0 || s.link >= len(s.page.links) {
		return nil
	}
	return &s.page.links[s.link]
}

// turnLink goes to the next link, or the one before.
func (s *Screen) turnLink(by int) tea.Cmd {
	n := len(s.page.links)
	s.link = (s.link + by + n) % n
	for i, line := range s.page.lines {
		if line.link == s.link {
			s.text.Reveal(i)
			break
		}
	}
	return nil
}

// look follows the link.
func (s *Screen) look() tea.Cmd {
	l := s.selectedLink()
	if l.target != nil {
		return s.host.Go(screen.Look{Target: l.target})
	}
	return s.host.Go(screen.Look{Target: screen.ToRequest{Journey: l.journey, Step: l.step, Tab: l.tab}})
}

// lookAtSource shows the source behind the link.
func (s *Screen) lookAtSource() tea.Cmd {
	l := s.selectedLink()
	if l.source != nil {
		return s.host.Go(screen.Look{Target: *l.source})
	}
	return s.host.Go(screen.Look{Target: screen.ToRequest{Journey: l.journey, Step: l.step, Tab: "Source"}})
}

func (s *Screen) whyNoSource() string {
	switch l := s.selectedLink(); {
	case l == nil:
		return s.whyNoLink()
	case l.source == nil && l.journey == "":
		return "no function is known of what the mark is on"
	}
	return ""
}
