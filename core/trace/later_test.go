package trace_test

import (
	"context"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// TestLater leaves something for when the response is there: the journey ends after it, has what it recorded, and is as long as the request was.
func TestLater(t *testing.T) {
	for _, level := range []trace.Level{trace.Steps, trace.Objects} {
		ctx, j := trace.NewRecorder("later", trace.DefaultLimits).Begin(t.Context(), trace.Request{Method: "GET", URI: "/"})
		j.SetLevel(level)
		_, step := trace.Start(ctx, steps.HandlerPolicy, "one")
		goOn := make(chan struct{})
		step.AfterResponse(func() {
			<-goOn
			step.Text("late", "text")
		})
		step.End(nil)
		j.Finish(trace.Response{Code: 200})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if ended := j.Wait(over); ended != (level == trace.Steps) {
			t.Errorf("level %d: it has ended: %v", level, ended)
		}
		took := j.Summary().Took
		if took == 0 {
			t.Errorf("level %d: the request has ended, and nobody knows after how long", level)
		}
		j.Finish(trace.Response{Code: 500}) // which it has not
		close(goOn)
		if !j.Wait(t.Context()) {
			t.Fatal("it does not end")
		}
		r := j.Record()
		if has := len(r.Steps[0].Attrs) == 1; has != (level == trace.Objects) || r.Response.Code != 200 || r.Took != took || r.Running {
			t.Errorf("level %d: %+v", level, r)
		}
	}
}
