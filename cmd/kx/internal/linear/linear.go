package linear

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/session"
)

// Capacity limits the requests that are kept.
const Capacity = 10_000

// Options are the inputs of [Run].
type Options struct {
	Session *session.Session
	// Changed gets a signal whenever the session has changes.
	Changed <-chan struct{}
	// Control holds requests. It is nil without a server.
	Control *control.Control
	// API sends requests other ways. It is nil without a server.
	API *api.Client
	// Host is the server's address. It is empty for saved requests.
	Host     string
	Language lang.Language
	// Files returns the source of a step.
	Files journey.Files
}

// linear is one run.
type linear struct {
	Options
	ctx   context.Context
	out   io.Writer
	paint journey.Paint
	ring  *session.Ring
	told  map[string]string // the last report about each request: the step at which it is held, or ended
	// quiet is set while the user reads a request: new requests are then only counted.
	quiet  bool
	missed int
	phase  session.State

	open  *v1alpha1.Journey
	story *story.Story
	lines []story.Line // of the story, as it is folded
	at    int          // the line that was written last
}

// Run reads commands until the input ends, or until the user quits.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &linear{Options: o, ctx: ctx, out: out, paint: journey.Plain.WithLanguage(o.Language), ring: session.NewRing(Capacity),
		told: map[string]string{}}
	typed := make(chan string)
	failed := make(chan error, 1)
	go func() {
		defer close(typed)
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			select {
			case typed <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
		failed <- lines.Err()
	}()
	o.Session.Follow("")
	l.say("Each request is a line here when it ends. Type help for the commands, and quit to leave.")
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.Changed:
			l.drain()
		case line, ok := <-typed:
			if !ok {
				select {
				case err := <-failed:
					return err
				case <-ctx.Done(): // the input was not read to its end
					return context.Cause(ctx)
				}
			}
			l.drain()
			if l.do(line) {
				return nil
			}
		}
	}
}

// say writes a line in the reader's language.
func (l *linear) say(english string, values ...any) {
	fmt.Fprintln(l.out, draw.Clean(l.Language.Phrase(english, values...)))
}

// drain reports the session's changes.
func (l *linear) drain() {
	batch := l.Session.Drain()
	l.ring.Apply(batch)
	if batch.State != l.phase {
		switch l.phase = batch.State; l.phase.Phase {
		case session.Live:
			l.say("Following %s.", l.Host)
		case session.Foreign:
			l.say("%s answers, but it isn't a kx: it has no kx.dev API.", l.Host)
			l.say("kx tui --kubeconfig FILE --context NAME follows another server. q quits.")
		case session.Retrying:
			l.say("No answer: %s. Trying again.", l.phase.Reason)
		}
	}
	if n := batch.Dropped + batch.LeftOut; n > 0 {
		l.say("%d requests are not told of: there were too many at once.", n)
	}
	for i := range l.ring.Len() {
		l.tell(l.ring.At(i).Journey)
	}
	if len(l.told) > 2*Capacity { // the ring has lost most of these
		maps.DeleteFunc(l.told, func(id, _ string) bool { return l.ring.Index(id) < 0 })
	}
}

// ended is the value of linear.told for a request that has ended.
const ended = "the end"

// tell reports the end of a request, and each step at which it is held, once.
func (l *linear) tell(j *v1alpha1.Journey) {
	at := ""
	switch {
	case j.Status.Phase == v1alpha1.JourneyComplete:
		at = ended
	case len(j.Status.Held) > 0:
		at = j.Status.Held[0].ID
	}
	if at == "" || l.told[j.Name] == at {
		return
	}
	l.told[j.Name] = at
	switch {
	case l.quiet && (l.open == nil || l.open.Name != j.Name):
		l.missed++
	case at == ended:
		_ = journey.Line(l.out, j, l.paint) // after a failed write, a message about it would fail too
	default:
		l.say("%s %s is held at %s: %s", j.Spec.Method, j.Spec.URI, at, j.Name)
	}
}

// do runs the command of a line. It returns true for quit.
func (l *linear) do(line string) (quit bool) {
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	argument = strings.TrimSpace(argument)
	if name == "" {
		name = "next"
	}
	if name == "quit" {
		return true
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		if err := c.do(l, argument); err != nil {
			l.say("That did not work: %s", err.Error())
		}
		if l.quiet && l.missed > 0 {
			l.say("%d other requests came meanwhile: resume tells of new ones again.", l.missed)
			l.missed = 0
		}
		return false
	}
	l.say("There is no command %s: help lists them.", name)
	return false
}

// read opens a request and starts its story. Without an ID it opens the latest request.
func (l *linear) read(id string) error {
	if id == "" {
		if l.ring.Len() == 0 {
			return fmt.Errorf("%s", l.Language.Phrase("there has been no request yet"))
		}
		id = l.ring.At(l.ring.Len() - 1).Name
	}
	j, err := l.Session.Get(l.ctx, id)
	if err != nil {
		return err
	}
	others, err := l.Session.Related(l.ctx, j)
	if err != nil {
		return err
	}
	l.open, l.story, l.at = j, story.Tell(j, l.Language, others...), -1
	l.lines = l.story.Lines()
	l.quiet = true
	return nil
}

// need opens the latest request if none is open.
func (l *linear) need() error {
	if l.open == nil {
		return l.read("")
	}
	return nil
}

// step returns the step of the last sentence, or nil if the sentence is about the whole request.
func (l *linear) step() *v1alpha1.Step {
	if l.open == nil || l.at < 0 || l.at >= len(l.lines) {
		return nil
	}
	if i := l.lines[l.at].Step; i >= 0 && i < len(l.open.Status.Steps) {
		return &l.open.Status.Steps[i]
	}
	return nil
}

// sentence writes one sentence and its depth.
func (l *linear) sentence() {
	line := l.lines[l.at]
	mark := ""
	if line.Failed {
		mark = "! "
	}
	fmt.Fprintf(l.out, "%d/%d %s%s\n", l.at+1, len(l.lines), mark, line.Text)
}

// list writes the kept requests that match a filter.
func (l *linear) list(text string) error {
	if _, err := filter.Parse(text, l.Session.Names); err != nil {
		return err
	}
	rows, err := l.Session.Rows(l.ctx, text)
	if err != nil {
		return err
	}
	for _, j := range rows {
		if err := journey.Line(l.out, j, l.paint); err != nil {
			return err
		}
	}
	l.say("%d requests.", len(rows))
	return nil
}
