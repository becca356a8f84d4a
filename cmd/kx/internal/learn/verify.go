package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/play"
)

// Verifier runs lessons without a screen.
type Verifier struct {
	// Binary is the program that the commands run as kx. Env is added to their environment.
	Binary string
	Env    []string
	Known  KnownNames
	// Shown (optional) is called with the journey that a block of the lesson opens.
	Shown func(lesson.Show, *v1alpha1.Journey)
}

// Report is the result of verifying a lesson.
type Report struct {
	Entry Entry
	// Conditions counts the lesson's conditions, and Held the fulfilled ones.
	Conditions, Held int
	// Problems explains why the lesson does not hold. It is empty if the lesson holds.
	Problems []string
	// Lacks names a requirement that the machine does not meet, so that nothing ran. LeftOut names a requirement of
	// some parts, which did not run.
	Lacks, LeftOut string
	Took           time.Duration
}

// Verify runs a lesson. All expectations must hold. After each starter an expectation must fail, and after the
// solution none.
func (v *Verifier) Verify(ctx context.Context, e Entry) Report {
	began := time.Now()
	r := Report{Entry: e, Problems: unknown(e, v.Known)}
	if r.Lacks = play.Lacks(e.Needs); r.Lacks != "" {
		return r
	}
	if err := v.play(ctx, &r, nil); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	r.Took = time.Since(began)
	return r
}

// mutatedWithin limits the wait for an expectation to fail after a mutation.
const mutatedWithin = 3 * time.Second

// Mutate runs a lesson with the change of its server that the lesson names. If all expectations still hold, that is a
// problem.
func (v *Verifier) Mutate(ctx context.Context, e Entry) Report {
	began := time.Now()
	r := Report{Entry: e, Lacks: play.Lacks(e.Needs)}
	if r.Lacks != "" {
		return r
	}
	switch err := v.play(ctx, &r, e.Mutation); {
	case e.Mutation == nil:
		r.Problems = []string{"it names no mutation: nothing shows that it can fail"}
	case errors.Is(err, errNoticed):
	case err != nil:
		r.Problems = []string{err.Error()}
	default:
		r.Problems = []string{fmt.Sprintf("the mutation changes nothing that is expected of %s", e.Mutation.Of)}
	}
	r.Took = time.Since(began)
	return r
}

// errNoticed ends a mutated lesson: an expectation has failed, as required.
var errNoticed = errors.New("the mutation was noticed")

// run is one run of a lesson.
type run struct {
	*play.Play
	report   *Report
	mutation *lesson.Mutation
	tasks    map[string]lesson.Task
	claims   claims
	shows    func(lesson.Show, *v1alpha1.Journey)
}

// play runs all parts. An error is a problem that ends the lesson early.
func (v *Verifier) play(ctx context.Context, report *Report, mutation *lesson.Mutation) (err error) {
	l := report.Entry.Lesson
	var flags []string
	if mutation != nil {
		flags = mutation.Serve
	}
	p, err := play.Begin(ctx, play.Options{Lesson: l, Server: &Server{Log: io.Discard}, Binary: v.Binary, Env: v.Env}, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r := &run{Play: p, report: report, mutation: mutation, tasks: map[string]lesson.Task{}, shows: v.Shown}
	if mutation == nil {
		var problems []string
		r.claims, problems = claimsOf(l.Articles)
		report.Problems = append(report.Problems, problems...)
	}
	for _, task := range l.Tasks() {
		r.tasks[task.ID] = task
	}
	for i := range l.Parts {
		if err := r.part(ctx, i); err != nil {
			return err
		}
	}
	if report.LeftOut == "" {
		report.Problems = append(report.Problems, r.claims.open()...)
	}
	return nil
}

// dropShown removes the chains that a run or task has shown from the claims.
func (r *run) dropShown(ctx context.Context, of string) error {
	for name, c := range r.claims {
		found, err := r.Shows(ctx, of, c.filter())
		if err != nil {
			return err
		}
		if found {
			delete(r.claims, name)
		}
	}
	return nil
}

// at names a part in an error.
func (r *run) at(part lesson.Part, format string, values ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{part.At()}, values...)...)
}

func (r *run) part(ctx context.Context, i int) error {
	if lacks := r.Lacks(lesson.RunOf(r.report.Entry.Parts[i])); lacks != "" {
		r.report.LeftOut = lacks
		return nil
	}
	switch part := r.report.Entry.Parts[i].(type) {
	case lesson.Run:
		return r.run(ctx, i, part)
	case lesson.Release:
		return r.do(ctx, i, "release "+part.Of)
	case lesson.Stop:
		return r.do(ctx, i, "stop "+part.Of)
	case lesson.Server:
		return r.do(ctx, i, "server")
	case lesson.Expect:
		return r.expect(ctx, part)
	case lesson.Show:
		return r.show(ctx, part)
	case lesson.Reading:
		return r.read(ctx, part)
	case lesson.Starter:
		return r.starter(ctx, part)
	case lesson.Solution:
		if _, err := r.Attempt(ctx, part.ID, part.Script); err != nil {
			return r.at(part, "the solution of %s: %w", part.ID, err)
		}
	}
	return nil
}

// run does a run, with the mutation's fault if that belongs to it.
func (r *run) run(ctx context.Context, i int, part lesson.Run) error {
	if err := r.mutate(ctx, part.ID); err != nil {
		return err
	}
	err := r.do(ctx, i, "run "+part.ID)
	if err != nil && r.mutation != nil && r.mutation.Of == part.ID {
		return errNoticed
	}
	return err
}

// mutate sets the mutation's fault, if that belongs to this run or task.
func (r *run) mutate(ctx context.Context, id string) error {
	if r.mutation == nil || r.mutation.Of != id || r.mutation.Fault == nil {
		return nil
	}
	return r.Arm(ctx, "mutation", *r.mutation.Fault)
}

// do does a part. If it fails, the error contains the output.
func (r *run) do(ctx context.Context, i int, what string) error {
	o, err := r.Do(ctx, i)
	if err == nil {
		return nil
	}
	if printed := strings.TrimSpace(o.Output); printed != "" {
		return r.at(r.report.Entry.Parts[i], "%s: %w; it printed:\n%s", what, err, indent(printed))
	}
	return r.at(r.report.Entry.Parts[i], "%s: %w", what, err)
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// expect checks expectations. If the mutation is for their run, it waits for one to fail.
func (r *run) expect(ctx context.Context, part lesson.Expect) error {
	if r.mutation != nil && r.mutation.Of == part.Of {
		part.Within = min(part.Within, mutatedWithin)
	}
	o, err := r.Expect(ctx, part)
	if err != nil {
		return r.at(part, "expect of %s: %w", part.Of, err)
	}
	if err := r.dropShown(ctx, part.Of); err != nil {
		return err
	}
	if r.mutation != nil {
		if r.mutation.Of == part.Of && !o.OK() {
			return errNoticed
		}
		return nil // the mutation may also affect runs before the mutated one
	}
	for _, result := range o.Results {
		r.report.Conditions++
		if result.OK {
			r.report.Held++
			continue
		}
		r.report.Problems = append(r.report.Problems, fmt.Sprintf("line %d: expected %s\n    saw: %s%s",
			result.Condition.At(), result.Condition.Text, strings.ReplaceAll(result.Saw, "\n", "\n    "), requests(result)))
	}
	return nil
}

// requests lists the requests of a result, one on each line.
func requests(r play.Result) string {
	var lines strings.Builder
	for _, j := range r.Journeys {
		fmt.Fprintf(&lines, "\n    %s %s %s %d", j.Name, j.Spec.Method, j.Spec.URI, j.Status.Code)
	}
	return lines.String()
}

func (r *run) show(ctx context.Context, part lesson.Show) error {
	if part.Open == "" || r.mutation != nil {
		return nil
	}
	name, err := r.Find(ctx, part.Of, part.Open)
	if err != nil {
		return r.at(part, "show of %s: %w", part.Of, err)
	}
	if r.shows != nil {
		j, err := r.Journey(ctx, name)
		if err != nil {
			return r.at(part, "show of %s: %w", part.Of, err)
		}
		r.shows(part, j)
	}
	if part.Step == "" {
		return nil
	}
	if _, err := r.Find(ctx, part.Of, "("+part.Open+") step:"+part.Step); err != nil {
		return r.at(part, "show of %s: %w", part.Of, err)
	}
	return nil
}

func (r *run) read(ctx context.Context, part lesson.Reading) error {
	for _, step := range part.Steps {
		if _, ok := steps.Lookup(step); !ok {
			return r.at(part, "read of %s: there is no step %s", part.Of, step)
		}
		if r.mutation != nil {
			continue
		}
		if _, err := r.Find(ctx, part.Of, "step:"+step); err != nil {
			return r.at(part, "read of %s: %w", part.Of, err)
		}
	}
	return nil
}

// starter runs the starter of a task. An expectation must fail afterwards.
func (r *run) starter(ctx context.Context, part lesson.Starter) error {
	if err := r.mutate(ctx, part.ID); err != nil {
		return err
	}
	if _, err := r.Attempt(ctx, part.ID, part.Script); err != nil {
		return r.at(part, "the starter of %s: %w", part.ID, err)
	}
	if r.mutation != nil {
		return nil
	}
	for _, e := range r.tasks[part.ID].Expects {
		results, err := r.Judge(ctx, e)
		if err != nil {
			return r.at(part, "the starter of %s: %w", part.ID, err)
		}
		if !(play.Outcome{Results: results}).OK() {
			return nil
		}
	}
	return r.at(part, "with the starter of %s all its expectations hold: nothing is left to do", part.ID)
}

// Executable returns the path of the running binary.
func Executable() (string, error) {
	binary, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the binary that the lesson's commands call kx: %w", err)
	}
	return binary, nil
}
