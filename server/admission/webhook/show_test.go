package webhook

import (
	"fmt"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// TestLongPatch: a step says of how many operations it shows nothing.
func TestLongPatch(t *testing.T) {
	ctx, j := trace.NewRecorder("test", trace.DefaultLimits).Begin(t.Context(), trace.Request{Method: "POST", URI: "/"})
	_, step := trace.Start(ctx, steps.HandlerWebhook, "long")
	text := `[{"op":"remove","path":"/0"}`
	for i := range mostShown + 6 {
		text += fmt.Sprintf(`,{"op":"remove","path":"/%d"}`, i+1)
	}
	patch, err := jsonpatch.DecodePatch([]byte(text + "]"))
	if err != nil {
		t.Fatal(err)
	}
	show(step, patch)
	step.End(nil)
	j.Finish(trace.Response{Code: 200})
	if !j.Wait(t.Context()) {
		t.Fatal("it does not end")
	}
	attrs := j.Record().Steps[0].Attrs
	if len(attrs) != mostShown+1 || attrs[mostShown].Name != "not-shown" || attrs[mostShown].Text != "7 more operations" || attrs[mostShown-1].Text != "remove /31" {
		t.Errorf("the step has %+v", attrs)
	}
}
