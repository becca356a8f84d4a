package capture

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
)

// greet shows, while there is no request, why there is none and what can be done.
func (s *Screen) greet() {
	s.list.SetEmpty(s.emptyList())
	if s.ring.Len() > 0 || s.open.id != "" {
		return
	}
	w := s.Area(layout.Steps).W
	if w == 0 { // it shares its place with Detail
		w = s.Area(layout.Detail).W
	}
	lines := []string{""}
	for _, text := range s.emptySteps() {
		number := text[:len(text)-len(strings.TrimLeft(text, " 12345"))]
		for _, line := range draw.Wrap(text[len(number):], max(w-4-len(number), 1)) {
			lines = append(lines, " "+number+line)
			number = strings.Repeat(" ", len(number))
		}
	}
	s.steps.Message(lines...)
}

// offersDemo reports whether the list is empty and the demo would fill it.
func (s *Screen) offersDemo() bool {
	return s.ring.Len() == 0 && s.state.Phase == session.Live && s.applied == "" && s.options.Own != nil && s.options.Own()
}

// demoHint is the hint of the demo, while it is offered.
func (s *Screen) demoHint() string {
	if s.offersDemo() {
		return "demo"
	}
	return ""
}

// Opens implements screen.Opener: with no request to open, one can be made.
func (s *Screen) Opens() string {
	switch {
	case s.list.Selected() != nil:
		return "open"
	case s.host.API().Absent() == "":
		return "send one"
	}
	return ""
}

// enter opens what is under the cursor. With no request, it leads to where one is made.
func (s *Screen) enter() tea.Cmd {
	switch {
	case s.list.Selected() == nil && s.host.API().Absent() == "":
		return s.host.Go(screen.ToScreen{Name: screen.Send})
	case s.At() == layout.Detail:
		return s.followLink()
	}
	if why := s.whyNoRequest(); why != "" {
		s.host.Complain(s.phrase("can't open: %s", why))
		return nil
	}
	s.GoTo(s.At() + 1)
	return nil
}

// emptySteps returns the text of Steps without a request.
func (s *Screen) emptySteps() []string {
	if !s.offersDemo() {
		return []string{s.phrase("Here come the steps of a request:"),
			s.phrase("which code it went through, how long it took, and why it went that way.")}
	}
	return []string{
		s.phrase("%s plays a demo on this server. You will see:", keys.Example.Key()), "",
		"  1 " + s.phrase("a definition: the server begins to serve a resource"),
		"  2 " + s.phrase("two objects of it, written to etcd"),
		"  3 " + s.phrase("a conflict: two writers read the same revision, both update it, and the second gets 409"),
		"  4 " + s.phrase("a patch that loses a race, and that the server tries again by itself"),
		"  5 " + s.phrase("a GET, opened here: which code it went through, how long it took, and whether the cache or etcd answered"), "",
		s.phrase("Then %s walks its steps, and %s tells them.", keys.Next.Key(), keys.Tell.Key()),
	}
}

// emptyList returns the text of a list without requests.
func (s *Screen) emptyList() []string {
	host := draw.Clean(s.host.API().Host())
	switch {
	case s.state.Phase == session.AsSaved && s.applied == "":
		return []string{"  " + s.phrase("The capture is empty.")}
	case s.state.Phase == session.AsSaved:
		return []string{"  " + s.phrase("No request of the capture matches the filter. esc shows all.")}
	case host == "":
		return []string{"  " + s.phrase("The server is starting.")}
	case s.state.Phase == session.Connecting:
		return []string{"  " + s.phrase("Connecting to %s ...", host)}
	case s.state.Phase == session.Retrying:
		return []string{"  " + s.host.Theme().Words.Text(screen.NoAnswer)}
	case s.state.Phase == session.Foreign:
		return []string{
			"  " + s.phrase("%s answers, but it isn't a kx: it has no kx.dev API.", host), "",
			"  " + s.phrase("kx tui without --kubeconfig starts a kx, or joins the one that runs here."),
			"  " + s.phrase("kx tui --kubeconfig FILE --context NAME follows another server. q quits."),
		}
	case s.applied != "":
		return s.hidden.lines(s.applied, s.host.Theme().Words)
	}
	kubectl := "kubectl create configmap demo"
	if file := s.host.Kubeconfig(); file != "" {
		kubectl = "KUBECONFIG=" + draw.Clean(shellPath(file)) + " " + kubectl
	}
	lines := []string{"  " + s.phrase("No requests yet. Send one from another terminal:"), "    " + kubectl}
	if s.offersDemo() {
		lines = append(lines, "  "+s.phrase("or press %s for a demo: two writers, one object, and a conflict", keys.Example.Key()))
	}
	return lines
}
