package learn

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
)

// SideBySide calls one for each lesson, jobs at a time. It yields the reports in the order of the lessons.
func SideBySide(ctx context.Context, entries []Entry, jobs int, one func(context.Context, Entry) Report) iter.Seq[Report] {
	return func(yield func(Report) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		seats := make(chan struct{}, max(jobs, 1))
		reports := make([]chan Report, len(entries))
		for i, e := range entries {
			reports[i] = make(chan Report, 1)
			go func() {
				select {
				case seats <- struct{}{}:
					defer func() { <-seats }()
					reports[i] <- one(ctx, e)
				case <-ctx.Done():
					reports[i] <- Report{Entry: e, Problems: []string{context.Cause(ctx).Error()}}
				}
			}()
		}
		for _, report := range reports {
			if !yield(<-report) {
				cancel()
				return
			}
		}
	}
}

// Write writes a line about a lesson, and its problems below.
func Write(out io.Writer, r Report, mutated bool) {
	name := r.Entry.ID
	if r.Entry.Number > 0 {
		name = fmt.Sprintf("%2d %s", r.Entry.Number, name)
	}
	state := fmt.Sprintf("%d of %d hold", r.Held, r.Conditions)
	if r.LeftOut != "" {
		state += ", and parts need " + r.LeftOut
	}
	switch {
	case r.Lacks != "":
		state = "not run: it needs " + r.Lacks
	case mutated && len(r.Problems) == 0:
		state = "the mutation is noticed"
	case mutated:
		state = "the mutation is not noticed"
	}
	fmt.Fprintf(out, "%-22s %s  %s\n", name, state, r.Took.Round(100*time.Millisecond))
	for _, problem := range r.Problems {
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(escape.Text(problem), "\n", "\n  "))
	}
}
