package learn

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
)

// work is the piece of work that runs.
type work struct {
	what  string
	part  int // the part of the work; -1 for the lesson itself
	began time.Time
	end   func()
	clock *time.Timer // has the time drawn that it takes
}

// errStopped is the cause of work that the learner stopped.
var errStopped = errors.New("you stopped it")

// tickEvery is the interval at which the duration of work is drawn.
const tickEvery = time.Second

// start runs do in the background, and then with its result.
func start[T any](s *Screen, what string, part int, do func(context.Context) (T, error), then func(T, error) tea.Cmd) tea.Cmd {
	ctx, cancel := context.WithCancelCause(s.host.Context())
	w := &work{what: what, part: part, began: time.Now(), end: func() { cancel(errStopped) }}
	w.clock = time.AfterFunc(tickEvery, s.host.Changed)
	s.work = w
	return screen.Do(s.host, func() (T, error) {
		v, err := do(ctx)
		if err != nil && context.Cause(ctx) != nil {
			err = context.Cause(ctx)
		}
		return v, err
	}, func(v T, err error) tea.Cmd {
		w.clock.Stop()
		cancel(nil)
		s.work = nil
		return then(v, err)
	})
}

// stop ends the work that runs. It reports whether there was any.
func (s *Screen) stop() bool {
	if s.work == nil {
		return false
	}
	s.work.end()
	return true
}

// open waits for the lesson's server, and then repeats the parts done earlier.
func (s *Screen) open() tea.Cmd {
	s.failed = nil
	open := func(ctx context.Context) (Play, error) { return s.options.Open(ctx, s.output) }
	return start(s, s.phrase("waits for the lesson's server"), -1, open, func(p Play, err error) tea.Cmd {
		if err != nil {
			s.failed = err
			return nil
		}
		s.play = p
		s.before = s.record.Next
		return s.proceed()
	})
}

// proceed goes on after a part: with the parts done in an earlier run of the screen, or where the learner comes in.
func (s *Screen) proceed() tea.Cmd {
	for s.next < s.before {
		if cmd := s.replay(); cmd != nil {
			return cmd
		}
		s.next++
	}
	return s.settle()
}

// replay repeats a part that was done before. It is nil if there is nothing to do.
func (s *Screen) replay() tea.Cmd {
	i, e := s.next, s.at()
	s.acted = i
	e.state, e.replayed = done, true
	what := s.phrase("does again what you did before: part %d of %d", i+1, s.before)
	do := func(ctx context.Context) (play.Outcome, error) { return s.play.Do(ctx, i) }
	switch part := s.part().(type) {
	case lesson.Run, lesson.Release, lesson.Stop, lesson.Server:
	case lesson.Expect:
		if s.silent(i) {
			return nil
		}
	case lesson.Show:
		return s.show(part)
	case lesson.Reading:
		return s.read(part)
	case lesson.Starter:
		s.prepare(part)
		if e.tried = s.record.Tries[part.ID] != ""; !e.tried {
			e.state = passed
			return nil
		}
		do = func(ctx context.Context) (play.Outcome, error) { return s.try(ctx, part.ID, e.script) }
	default:
		return nil
	}
	e.state = working
	s.reveal()
	return start(s, what, i, do, func(o play.Outcome, err error) tea.Cmd {
		if s.took(i, o, err) {
			return s.proceed()
		}
		return nil // once it is done, the rest follows
	})
}

// doPart does the next part.
func (s *Screen) doPart(what string) tea.Cmd {
	i := s.next
	e := s.at()
	*e = entry{state: working, asides: e.asides}
	s.reveal()
	var led tea.Cmd
	if _, ok := s.part().(lesson.Run); ok {
		led = s.host.Go(screen.ToNewest{})
	}
	do := func(ctx context.Context) (play.Outcome, error) { return s.play.Do(ctx, i) }
	return tea.Batch(led, start(s, what, i, do, func(o play.Outcome, err error) tea.Cmd {
		if !s.took(i, o, err) {
			return nil
		}
		var held tea.Cmd
		if len(o.Held) > 0 {
			held = s.host.Go(screen.ToRequest{Journey: o.Held[0]})
		}
		return tea.Batch(held, s.proceed())
	}))
}

// took stores the outcome of a part, and goes on behind it if it is done.
func (s *Screen) took(i int, o play.Outcome, err error) bool {
	e := &s.entries[i]
	e.outcome, e.err, e.live, e.ended = o, err, "", time.Now()
	e.state = done
	if o.Lacks != "" {
		e.state, s.next = passed, i+1
		s.lacking[lesson.RunOf(s.options.Lesson.Parts[i])] = o.Lacks
		return true
	}
	if err != nil || !o.OK() {
		e.state = failed
		if errors.Is(err, errStopped) {
			e.state = waiting
		}
		s.reveal()
		return false
	}
	s.next = i + 1
	return true
}

// repeat repeats the commands that an expectation refers to, and the parts after them.
func (s *Screen) repeat() tea.Cmd {
	for i, part := range s.options.Lesson.Parts {
		if run, ok := part.(lesson.Run); ok && run.ID == s.runOfNext() {
			for k := i; k < len(s.entries); k++ {
				if k > i || s.entries[k].state != passed {
					s.entries[k] = entry{asides: s.entries[k].asides}
				}
			}
			s.next, s.acted = i, i
			return s.do()
		}
	}
	return nil
}

// runOfNext returns the run that the next part refers to; empty if there is none.
func (s *Screen) runOfNext() string {
	switch part := s.part().(type) {
	case lesson.Expect:
		return part.Of
	case lesson.Show:
		return part.Of
	case lesson.Reading:
		return part.Of
	}
	return ""
}

// keep saves the record, one save after the other.
func (s *Screen) keep() tea.Cmd {
	s.unkept = true
	if s.options.Keep == nil || s.keeping {
		return nil
	}
	s.keeping, s.unkept = true, false
	record := cloneRecord(s.record)
	return screen.Do(s.host, func() (struct{}, error) { return struct{}{}, s.save(record, false) }, func(_ struct{}, err error) tea.Cmd {
		s.keeping = false
		if err != nil {
			s.host.Complain(err.Error())
			return nil
		}
		if s.unkept {
			return s.keep()
		}
		return nil
	})
}

// runLine runs a command that the learner typed.
func (s *Screen) runLine(line string) tea.Cmd {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	s.history = append(s.history, line)
	e := s.at()
	s.acted = s.next
	e.asides, e.news = append(e.asides, typedCommand{line: line}), ofAside
	n := len(e.asides) - 1
	s.reveal()
	run := func(ctx context.Context) (play.Outcome, error) { return s.play.Shell(ctx, line) }
	return tea.Batch(s.host.Go(screen.ToNewest{}), start(s, s.phrase("runs your command"), s.next, run,
		func(o play.Outcome, err error) tea.Cmd {
			if n < len(e.asides) {
				e.asides[n].outcome, e.asides[n].err, e.asides[n].ended = o, err, true
			}
			s.reveal()
			return nil
		}))
}
