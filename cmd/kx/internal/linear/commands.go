package linear

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/send/again"
)

// command is a command of the line reader.
type command struct {
	name, argument, help string
	do                   func(l *linear, argument string) error
}

// commands returns all commands in the order of help, except quit, which ends the reading of lines.
func commands() []command {
	return []command{
		{"list", "FILTER", "the requests that are remembered, or those that the filter wants", (*linear).list},
		{"filter", "FILTER", "follow only the requests that the filter wants; without one, all", (*linear).narrow},
		{"read", "ID", "open a request, or the latest; then next reads sentence after sentence", (*linear).begin},
		{"next", "", "the next sentence; an empty line does the same", (*linear).next},
		{"back", "", "the sentence before", (*linear).back},
		{"go", "NUMBER", "the sentence of that number", (*linear).goTo},
		{"unfold", "", "the steps that the last sentence stands for, a sentence each; unfold all: of the whole request", fold(true)},
		{"fold", "", "one sentence again for what was unfolded; fold all does it for the whole request", fold(false)},
		{"story", "ID", "all sentences at once", (*linear).whole},
		{"walk", "ID OTHER", "the request's way through the layers in a few stops, as the picture has it; with another request, both " +
			"ways beside each other, and where they part", (*linear).walk},
		{"ways", "NUMBER", "the ways that the open request could have gone instead; with a number it is sent that way, and both are walked",
			(*linear).ways},
		{"steps", "ID", "the steps as a tree, with what each changed in the object", (*linear).steps},
		{"code", "", "the code of the step that the last sentence told of, and what it is called upstream", (*linear).code},
		{"resume", "", "tell of new requests again", (*linear).resume},
		{"break", "FILTER", "hold the requests that reach a step, such as: step:etcd.txn name:web", (*linear).breakAt},
		{"held", "", "the requests that are held, and where", (*linear).listHeld},
		{"into", "ID", "let the held request run to the next step", tell(v1alpha1.ActionInto)},
		{"over", "ID", "let it run past what the step calls", tell(v1alpha1.ActionNext)},
		{"out", "ID", "let it run out of the step", tell(v1alpha1.ActionOut)},
		{"continue", "ID", "let it run to the next breakpoint, or to its end", tell(v1alpha1.ActionContinue)},
		{"help", "", "these commands", (*linear).help},
	}
}

func (l *linear) help(string) error {
	for _, c := range commands() {
		fmt.Fprintf(l.out, "%s: %s\n", strings.TrimSpace(c.name+" "+c.argument), l.Language.Text(c.help))
	}
	fmt.Fprintf(l.out, "quit: %s\n", l.Language.Text("leave"))
	return nil
}

func (l *linear) narrow(text string) error {
	if _, err := filter.Parse(text, l.Session.Names); err != nil {
		return err
	}
	l.Session.Follow(text)
	l.quiet = false
	if text == "" {
		l.say("All requests are followed.")
		return nil
	}
	l.say("Only these are followed: %s", text)
	return nil
}

func (l *linear) begin(id string) error {
	if err := l.read(id); err != nil {
		return err
	}
	return l.next("")
}

func (l *linear) next(string) error {
	if err := l.need(); err != nil {
		return err
	}
	if l.at+1 >= len(l.lines) {
		l.say("That was the last sentence. resume tells of new requests again.")
		return nil
	}
	l.at++
	l.sentence()
	return nil
}

func (l *linear) back(string) error {
	if err := l.need(); err != nil {
		return err
	}
	if l.at <= 0 {
		l.say("That was the first sentence.")
		return nil
	}
	l.at--
	l.sentence()
	return nil
}

func (l *linear) goTo(number string) error {
	if err := l.need(); err != nil {
		return err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(l.lines) {
		return errors.New(l.Language.Phrase("the sentences have the numbers 1 to %d", len(l.lines)))
	}
	l.at = n - 1
	l.sentence()
	return nil
}

// fold returns the command that unfolds the part of the last sentence, or folds it, or does so with all parts.
func fold(unfolded bool) func(l *linear, which string) error {
	return func(l *linear, which string) error {
		if err := l.need(); err != nil {
			return err
		}
		at := l.lines[max(l.at, 0)]
		if which == "all" {
			l.story.UnfoldAll(unfolded)
			l.lines = l.story.Lines()
			l.at = l.story.Reveal(at.Step)
			l.say("The story has %d sentences now.", len(l.lines))
			return nil
		}
		if !l.story.Unfold(at.Part, unfolded) {
			return errors.New(l.Language.Text(map[bool]string{
				true: "nothing is folded at the last sentence", false: "nothing is unfolded at the last sentence"}[unfolded]))
		}
		l.lines = l.story.Lines()
		for i, line := range l.lines {
			if line.Part == at.Part {
				l.at = i
				l.sentence()
			}
		}
		return nil
	}
}

func (l *linear) whole(id string) error {
	if err := l.reopen(id); err != nil {
		return err
	}
	for l.at = range l.lines {
		l.sentence()
	}
	return nil
}

func (l *linear) walk(ids string) error {
	id, other, two := strings.Cut(ids, " ")
	if err := l.reopen(id); err != nil {
		return err
	}
	if two {
		return l.walkBoth(other)
	}
	walk, err := l.walkOpen()
	if err != nil {
		return err
	}
	stops := walk.Stops
	for i, s := range stops {
		fmt.Fprintf(l.out, "%d/%d %s: %s\n", i+1, len(stops), s.Box.Name(l.Language), s.Text)
		for _, known := range []struct{ name, text string }{
			{l.Language.Phrase("carried"), s.Carried}, {l.Language.Phrase("came back"), s.Back},
			{l.Language.Phrase("decided"), map[bool]string{true: s.Box.Name(l.Language)}[s.Decided]},
		} {
			if known.text != "" {
				fmt.Fprintf(l.out, "%s: %s\n", known.name, known.text)
			}
		}
	}
	return nil
}

// walkOpen returns the walk of the open request.
func (l *linear) walkOpen() (*story.Walk, error) {
	others, err := l.Session.Related(l.ctx, l.open)
	if err != nil {
		return nil, err
	}
	return story.WalkOf(l.open, l.Language, others...), nil
}

// walkBoth opens another request, and walks it beside the one that was open.
func (l *linear) walkBoth(other string) error {
	a, err := l.walkOpen()
	if err != nil {
		return err
	}
	if err := l.read(strings.TrimSpace(other)); err != nil {
		return err
	}
	b, err := l.walkOpen()
	if err != nil {
		return err
	}
	for _, line := range diff.ForkOf(a, b, l.Language).Tell() {
		fmt.Fprintln(l.out, line)
	}
	return nil
}

// ways lists the other ways of the open request, or sends it one of them.
func (l *linear) ways(number string) error {
	if err := l.need(); err != nil {
		return err
	}
	all, why := again.Variants(l.open)
	if len(all) == 0 {
		return errors.New(l.Language.Text(why))
	}
	if number == "" {
		for i, v := range all {
			fmt.Fprintf(l.out, "%d %s: %s\n", i+1, v.Box.Name(l.Language), l.Language.Text(v.Name))
		}
		return nil
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1 || n > len(all):
		return errors.New(l.Language.Phrase("the ways have the numbers 1 to %d", len(all)))
	case l.API == nil:
		return errors.New(l.Language.Text("saved requests can't be sent: there is no server"))
	}
	j, err := all[n-1].Send(l.ctx, l.API)
	if err != nil {
		return err
	}
	return l.walkBoth(j.Name)
}

// reopen opens the named request. Without a name it opens one only if none is open.
func (l *linear) reopen(id string) error {
	if id == "" {
		return l.need()
	}
	return l.read(id)
}

func (l *linear) steps(id string) error {
	if err := l.reopen(id); err != nil {
		return err
	}
	others, err := l.Session.Related(l.ctx, l.open)
	if err != nil {
		return err
	}
	journey.Objects(l.out, l.open, others, l.paint, 0)
	return nil
}

func (l *linear) code(string) error {
	s := l.step()
	if s == nil {
		return errors.New(l.Language.Phrase("the last sentence told of no step"))
	}
	at := s.DecisionPlace()
	l.say("%s, in %s, line %d.", at.Function, at.File, at.Line)
	l.say("Upstream: %s, in %s of %s.", s.Upstream, s.UpstreamFile, s.UpstreamRelease)
	text, err := l.Files(at.File)
	if err != nil {
		return err
	}
	first, lines := journey.Body(text, int(at.Line))
	for i, line := range lines {
		mark := ""
		if first+i == int(at.Line) {
			mark = "> "
		}
		fmt.Fprintf(l.out, "%d %s%s\n", first+i, mark, strings.ReplaceAll(line, "\t", "    "))
	}
	return nil
}

func (l *linear) resume(string) error {
	l.quiet, l.missed = false, 0
	l.say("New requests are told of.")
	return nil
}

// noControl explains why requests cannot be held.
func (l *linear) noControl() error {
	if l.Control == nil {
		return errors.New(l.Language.Phrase("saved requests can't be held"))
	}
	return nil
}

func (l *linear) breakAt(text string) error {
	if err := l.noControl(); err != nil {
		return err
	}
	key, err := l.Control.Add(l.ctx, control.Spec{Breakpoint: &v1alpha1.BreakpointSpec{Filter: text}})
	if err != nil {
		return errors.New(control.Reason(err))
	}
	l.say("Breakpoint %s holds the requests that reach it.", key.Name)
	return nil
}

// held asks the server for the held requests: the state of the session and the control can be older than the lines
// that the user has read.
func (l *linear) held() ([]*v1alpha1.Journey, error) { return l.Session.Rows(l.ctx, "phase:held") }

func (l *linear) listHeld(string) error {
	if err := l.noControl(); err != nil {
		return err
	}
	held, err := l.held()
	if err != nil {
		return err
	}
	for _, j := range held {
		for _, h := range j.Status.Held {
			fmt.Fprintf(l.out, "%s %s: %s, %s\n", j.Spec.Method, j.Spec.URI, h.ID, j.Name)
		}
	}
	l.say("%d requests are held.", len(held))
	return nil
}

// tell makes a command that sends an action to a held request: to the named one, or else to the only one.
func tell(action v1alpha1.JourneyAction) func(*linear, string) error {
	return func(l *linear, id string) error {
		if err := l.noControl(); err != nil {
			return err
		}
		if id == "" {
			held, err := l.held()
			if err != nil {
				return err
			}
			if len(held) != 1 {
				return errors.New(l.Language.Phrase("%d requests are held: say the ID of one", len(held)))
			}
			id = held[0].Name
		}
		j, err := l.Control.Tell(l.ctx, id, v1alpha1.JourneyCommandSpec{Action: action})
		if err != nil {
			return errors.New(control.Reason(err))
		}
		if len(j.Status.Held) == 0 {
			l.say("%s goes on.", id)
			return nil
		}
		h := j.Status.Held[0]
		l.told[id] = h.ID
		title := ""
		if int(h.Step) < len(j.Status.Steps) {
			title = l.Language.Text(j.Status.Steps[h.Step].Title)
		}
		l.say("Step %d: %s, %s", h.Step+1, h.ID, title)
		return nil
	}
}
