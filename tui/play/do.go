package play

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/api"
)

// Outcome is the outcome of a part.
type Outcome struct {
	// Output is the command's output; Exit is its code, and Took its duration.
	Output  string
	Exit    int
	Took    time.Duration
	Running bool // in the background
	// Lacks names a need of the run that the machine does not meet; then nothing ran. Empty if it meets all.
	Lacks string
	// Held lists the requests that are held now.
	Held []string
	// Results are the results of an expectation.
	Results []Result
}

// OK reports whether all expectations hold.
func (o Outcome) OK() bool {
	for _, r := range o.Results {
		if !r.OK {
			return false
		}
	}
	return true
}

// Do runs part i of the lesson: a run, its release or stop, a restart of the server, an expectation. Other parts do
// nothing here. A failed expectation is no error.
func (p *Play) Do(ctx context.Context, i int) (Outcome, error) {
	ctx, cancel := p.lessonContext(ctx)
	defer cancel()
	if lacks := p.Lacks(lesson.RunOf(p.Lesson.Parts[i])); lacks != "" {
		return Outcome{Lacks: lacks}, nil
	}
	switch part := p.Lesson.Parts[i].(type) {
	case lesson.Run:
		return p.begin(ctx, part)
	case lesson.Release:
		return p.release(ctx, part.Of)
	case lesson.Stop:
		return p.stop(ctx, part.Of)
	case lesson.Server:
		return Outcome{}, p.restart(ctx, part.Flags)
	case lesson.Expect:
		return p.Expect(ctx, part)
	}
	return Outcome{}, nil
}

// lessonContext returns a context that ends with ctx, and when the lesson is left.
func (p *Play) lessonContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.alive, func() { cancel(context.Cause(p.alive)) })
	return ctx, func() { stop(); cancel(nil) }
}

// begin starts a run, with its breakpoints and faults.
func (p *Play) begin(ctx context.Context, r lesson.Run) (Outcome, error) {
	s, err := p.span(ctx, r.ID)
	if err != nil {
		return Outcome{}, err
	}
	holds, faults := p.Lesson.Setup(r.ID)
	for _, h := range holds {
		for _, filter := range h.Filters {
			spec := v1alpha1.BreakpointSpec{Filter: filter, Count: 1}
			if err := p.arm(ctx, r.ID, "breakpoints", &v1alpha1.Breakpoint{TypeMeta: typeMeta("Breakpoint"), Spec: spec}); err != nil {
				return Outcome{}, err
			}
		}
	}
	for _, f := range faults {
		if err := p.Arm(ctx, r.ID, f.Spec); err != nil {
			return Outcome{}, err
		}
	}
	if err := p.command(s, r.Script, r.Limit, r.ID); err != nil {
		return Outcome{}, err
	}
	if !r.Background {
		return p.finish(ctx, s.command, r.Fails)
	}
	if len(holds) > 0 {
		held, err := p.await(ctx, s, "phase:held", "a request that is held")
		o := s.command.outcome()
		o.Held = held
		return o, err
	}
	_, err = p.await(ctx, s, "", "a request")
	return s.command.outcome(), err
}

// command runs a script for a span.
func (p *Play) command(s *span, script string, limit time.Duration, id string) error {
	var tell func(string)
	if p.Output != nil {
		tell = func(text string) { p.Output(id, text) }
	}
	c, err := p.run(script, limit, tell)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.command = c
	return nil
}

// finish waits for the end of a command.
func (p *Play) finish(ctx context.Context, c *command, fails bool) (Outcome, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.kill()
		<-c.done
		return c.outcome(), context.Cause(ctx)
	}
	return c.outcome(), c.failure(fails)
}

// awaitCommand waits for the end of a command of the learner. Any exit code is allowed.
func (p *Play) awaitCommand(ctx context.Context, c *command) (Outcome, error) {
	o, err := p.finish(ctx, c, false)
	if o.Exit > 0 {
		err = nil
	}
	return o, err
}

// span begins to collect the requests of a run, or of a try at a task.
func (p *Play) span(ctx context.Context, id string) (*span, error) {
	// When a block is played again, the requests of its earlier command would count too: stop that first.
	p.mu.Lock()
	old := p.runs[id]
	p.mu.Unlock()
	if old != nil && old.command != nil {
		old.command.kill()
		<-old.command.done
	}
	if err := p.disarm(ctx, id); err != nil {
		return nil, err
	}
	list, err := p.journeys(ctx, "")
	if err != nil {
		return nil, err
	}
	s := &span{}
	if n := len(list); n > 0 {
		s.mark = list[n-1].Name
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[id] = s
	return s, nil
}

// spanOf returns the span of a run; an error if it has not begun.
func (p *Play) spanOf(id string) (*span, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.runs[id]
	if s == nil {
		return nil, fmt.Errorf("%s has not run yet", id)
	}
	return s, nil
}

// filter returns a filter for the requests of the span that match text.
func (s *span) filter(text string) string {
	var terms []string
	if s.mark != "" {
		terms = append(terms, "after:"+s.mark)
	}
	if strings.TrimSpace(text) != "" {
		terms = append(terms, "("+text+")")
	}
	return strings.Join(terms, " ")
}

func (p *Play) journeys(ctx context.Context, filter string) ([]v1alpha1.Journey, error) {
	var list v1alpha1.JourneyList
	err := p.api.Get(ctx, api.KX+"/journeys", url.Values{"filter": {filter}}, &list)
	if err != nil {
		return nil, fmt.Errorf("ask the lesson's server for its journeys: %w", err)
	}
	return list.Items, nil
}

// pollEvery is the interval between two checks for an expected event.
const pollEvery = 50 * time.Millisecond

// awaitLimit limits the time from the start of a background run to its first request.
const awaitLimit = time.Minute

// await waits for a request of the span that matches filter.
func (p *Play) await(ctx context.Context, s *span, filter, what string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, awaitLimit, fmt.Errorf("%s was expected within %s, and there was none", what, awaitLimit))
	defer cancel()
	for {
		list, err := p.journeys(ctx, s.filter(filter))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return names(list), nil
		}
		select {
		case <-s.command.done:
			return nil, fmt.Errorf("%s was expected, and it ended without", what)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

func names(list []v1alpha1.Journey) []string {
	var ids []string
	for i := range list {
		ids = append(ids, list[i].Name)
	}
	return ids
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

// Arm makes a fault that lasts until the run is released.
func (p *Play) Arm(ctx context.Context, run string, spec v1alpha1.FaultSpec) error {
	return p.arm(ctx, run, "faults", &v1alpha1.Fault{TypeMeta: typeMeta("Fault"), Spec: spec})
}

// arm makes a breakpoint or fault for a run.
func (p *Play) arm(ctx context.Context, run, collection string, object metav1.Object) error {
	p.mu.Lock()
	n := 0
	for _, paths := range p.rules {
		n += len(paths)
	}
	p.mu.Unlock()
	object.SetName(fmt.Sprintf("lesson-%s-%d", run, n+1))
	path := api.KX + "/" + collection
	if err := p.api.Create(ctx, path, object, nil); err != nil {
		return fmt.Errorf("make the %s of %s: %w", strings.TrimSuffix(collection, "s"), run, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules[run] = append(p.rules[run], path+"/"+object.GetName())
	return nil
}

// disarm deletes the breakpoints and faults of a run, which releases held requests.
func (p *Play) disarm(ctx context.Context, run string) error {
	p.mu.Lock()
	paths := p.rules[run]
	delete(p.rules, run)
	p.mu.Unlock()
	for _, path := range paths {
		if err := p.api.Delete(ctx, path); err != nil && api.Code(err) != http.StatusNotFound {
			return fmt.Errorf("release %s: %w", run, err)
		}
	}
	return nil
}

func (p *Play) release(ctx context.Context, id string) (Outcome, error) {
	s, err := p.spanOf(id)
	if err != nil {
		return Outcome{}, err
	}
	if err := p.disarm(ctx, id); err != nil {
		return Outcome{}, err
	}
	run := p.Lesson.Run(id)
	if !run.Background {
		return Outcome{}, nil // it ended, and was judged, before
	}
	return p.finish(ctx, s.command, run.Fails)
}

// stopLimit limits the time that an interrupted command takes to end.
const stopLimit = 20 * time.Second

func (p *Play) stop(ctx context.Context, id string) (Outcome, error) {
	s, err := p.spanOf(id)
	if err != nil {
		return Outcome{}, err
	}
	s.command.stop()
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	o, err := p.finish(ctx, s.command, false)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // it was killed
	}
	return o, err
}

// shellLimit limits the duration of a command of the learner.
const shellLimit = 5 * time.Minute

// Lacks names a need of a run or task, beyond those of the lesson, that the machine does not meet; empty if it meets
// all.
func (p *Play) Lacks(id string) string { return Lacks(p.Lesson.NeedsOf(id)) }

// Attempt runs the learner's try at a task, and judges it. A non-zero exit code is no error: a task may be about a
// refusal.
func (p *Play) Attempt(ctx context.Context, task, script string) (Outcome, error) {
	ctx, cancel := p.lessonContext(ctx)
	defer cancel()
	if lacks := p.Lacks(task); lacks != "" {
		return Outcome{Lacks: lacks}, nil
	}
	s, err := p.span(ctx, task)
	if err != nil {
		return Outcome{}, err
	}
	limit := shellLimit
	for _, t := range p.Lesson.Tasks() {
		if t.ID == task {
			limit = t.Starter.Limit
		}
	}
	if err := p.command(s, script, limit, task); err != nil {
		return Outcome{}, err
	}
	return p.awaitCommand(ctx, s.command)
}

// Shell runs any command of the learner.
func (p *Play) Shell(ctx context.Context, line string) (Outcome, error) {
	ctx, cancel := p.lessonContext(ctx)
	defer cancel()
	s := &span{}
	if err := p.command(s, line, shellLimit, ""); err != nil {
		return Outcome{}, err
	}
	return p.awaitCommand(ctx, s.command)
}

// Shows reports whether a request of a run, or an installation of a resource, matches filter.
func (p *Play) Shows(ctx context.Context, of, filter string) (bool, error) {
	s, err := p.spanOf(of)
	if err != nil {
		return false, err
	}
	list, err := p.journeys(ctx, s.filter(filter))
	if err != nil || len(list) > 0 {
		return len(list) > 0, err
	}
	if !strings.HasPrefix(filter, "verb:install ") {
		return false, nil
	}
	list, err = p.journeys(ctx, filter) // most are from before the run
	return len(list) > 0, err
}

// Find returns the newest request of a run that matches filter.
func (p *Play) Find(ctx context.Context, of, filter string) (journey string, err error) {
	s, err := p.spanOf(of)
	if err != nil {
		return "", err
	}
	list, err := p.journeys(ctx, s.filter(filter))
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("no request of %s is %s", of, filter)
	}
	return list[len(list)-1].Name, nil
}

// Journey returns a request from Find, with its steps.
func (p *Play) Journey(ctx context.Context, name string) (*v1alpha1.Journey, error) {
	j := &v1alpha1.Journey{}
	if err := p.api.Get(ctx, api.KX+"/journeys/"+url.PathEscape(name), nil, j); err != nil {
		return nil, fmt.Errorf("ask the lesson's server for a journey: %w", err)
	}
	return j, nil
}
