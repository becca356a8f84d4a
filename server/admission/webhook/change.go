package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/handler/patchwork"
)

var webhooksAsked = trace.Because("webhooks-asked",
	"{count} of {all} webhooks are about this write",
	"{all} 个 webhook 中有 {count} 个与这次写入有关")

// mutate calls the mutating webhooks one after the other. Each sees the changes of those before it.
func (w *Webhooks) mutate(ctx context.Context, a plugin.Write) (err error) {
	hooks, err := w.all(ctx, a, &w.mutating)
	if err != nil {
		return err
	}
	again := match.RoundsOf(a, "MutatingAdmissionWebhook")
	var present *admission.VersionedAttributes
	in := func(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
		if present == nil || present.VersionedKind != kind {
			if err := settle(present, a.Objects); err != nil {
				return nil, err
			}
			present, err = match.ConvertObjects(a.Attributes, kind, a.Objects)
		}
		return present, err
	}
	var asked int64
	for i, hook := range hooks {
		seen := a
		if present != nil {
			seen.Attributes = present
		}
		m, err := w.match(ctx, hook, seen, in)
		if err != nil {
			return err
		}
		// The second round calls no webhook for the first time.
		if m == nil || !again.NeedsCall(hook.GetUID()) {
			continue
		}
		c := &call{ruleMatch: m, side: mutatingSide, round: again.Round(), index: i}
		if c.of, err = in(m.kind); err != nil {
			return err
		}
		changed, err := w.do(ctx, c, func(step *trace.Step, answer *admissionv1.AdmissionResponse) (int, bool, error) {
			return c.apply(step, answer, a.Objects)
		})
		if changed {
			again.RecordChange()
		}
		if err != nil {
			return err
		}
		if m.skipped.IsZero() {
			asked++
			mutating, _ := hook.GetMutatingWebhook()
			if policy := mutating.ReinvocationPolicy; policy != nil && *policy == registrationv1.IfNeededReinvocationPolicy {
				again.RecordCall(hook.GetUID())
			}
		}
	}
	a.Step.Why(webhooksAsked, asked, int64(len(hooks)))
	if err := settle(present, a.Objects); err != nil {
		return err
	}
	again.Leave(a.GetObject())
	return nil
}

// settle copies the changes of webhooks into the object of the write.
func settle(v *admission.VersionedAttributes, o admission.ObjectInterfaces) error {
	if v == nil || !v.Dirty || v.VersionedObject.Object() == nil {
		return nil
	}
	if err := match.TakeOver(v.Attributes.GetObject(), v.VersionedObject.Object(), o); err != nil {
		return apierrors.NewInternalError(err)
	}
	v.Dirty = false
	return nil
}

// validate calls all validating webhooks concurrently. The answer is the first refusal in their order.
func (w *Webhooks) validate(ctx context.Context, a plugin.Write) error {
	hooks, err := w.all(ctx, a, &w.validating)
	if err != nil {
		return err
	}
	kinds := map[schema.GroupVersionKind]*admission.VersionedAttributes{}
	in := func(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
		if kinds[kind] == nil {
			kinds[kind], err = match.ConvertObjects(a.Attributes, kind, a.Objects)
		}
		return kinds[kind], err
	}
	var calls []*call
	var asked int64
	for _, hook := range hooks {
		m, err := w.match(ctx, hook, a, in)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		c := &call{ruleMatch: m, side: validatingSide, index: int(asked)}
		if c.of, err = in(m.kind); err != nil {
			return err
		}
		if m.skipped.IsZero() {
			asked++
		}
		calls = append(calls, c)
	}
	a.Step.Why(webhooksAsked, asked, int64(len(hooks)))
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	for i, c := range calls {
		if !c.skipped.IsZero() || asked == 1 {
			_, errs[i] = w.do(ctx, c, nil)
			continue
		}
		forked := trace.Fork(ctx)
		running.Go(func() {
			defer func() {
				if r := recover(); r != nil { // it would end the process
					errs[i] = apierrors.NewInternalError(
						fmt.Errorf("ValidatingAdmissionWebhook/%v has panicked: %v", c.hook.GetName(), r))
				}
			}()
			_, errs[i] = w.do(forked, c, nil)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// apply applies the patch of an answer to the object of a call.
func (c *call) apply(step *trace.Step, answer *admissionv1.AdmissionResponse,
	o admission.ObjectInterfaces) (operations int, changed bool, err error) {
	if len(answer.Patch) == 0 {
		return 0, false, nil
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		return 0, false, c.failed("received undecodable patch in webhook response", err,
			apierrors.NewServiceUnavailable("error decoding patch in webhook response"))
	}
	if len(patch) == 0 {
		return 0, false, nil
	}
	before := c.of.VersionedObject.Object()
	if before == nil {
		return 0, false, apierrors.NewInternalError(
			fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation",
				c.hook.GetName()))
	}
	if kind := *answer.PatchType; kind != admissionv1.PatchTypeJSONPatch { // it is there where there is a patch
		return 0, false, c.failed(fmt.Sprintf("unsupported patch type %q", kind), nil,
			webhookerrors.ToStatusErr(c.hook.GetName(), answer.Result))
	}
	show(step, patch)
	after, err := applyPatch(before, answer.Patch, patch, c.of.VersionedKind, o)
	if err != nil {
		return 0, false, apierrors.NewInternalError(err)
	}
	changed = !apiequality.Semantic.DeepEqual(before, after)
	c.notePatch(patch)
	c.of.UpdateObject(after)
	o.GetObjectDefaulter().Default(after)
	return len(patch), changed, nil
}

// applyPatch applies a patch and returns a new object.
func applyPatch(obj runtime.Object, sent []byte, patch jsonpatch.Patch, kind schema.GroupVersionKind,
	o admission.ObjectInterfaces) (out runtime.Object, err error) {
	defer func() {
		if r := recover(); r != nil { // the library dereferences values that an operation does not have
			err = fmt.Errorf("an operation of the patch lacks something: %v", r)
		}
	}()
	serializer := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(),
		kjson.SerializerOptions{})
	document, err := runtime.Encode(serializer, obj)
	if err != nil {
		return nil, err
	}
	if err := patchwork.Check(patch, sent, document); err != nil {
		return nil, err
	}
	if document, err = patch.Apply(document); err != nil {
		return nil, err
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		out = &unstructured.Unstructured{}
	} else if out, err = o.GetObjectCreater().New(kind); err != nil {
		return nil, err
	}
	out, _, err = serializer.Decode(document, nil, out)
	return out, err
}

// mostShown limits the operations of a patch that a step shows, and mostValue the size of a value.
const (
	mostShown = 32
	mostValue = 4 << 10
)

// show records a patch in the step, operation by operation. Values appear only where objects are recorded.
func show(step *trace.Step, patch jsonpatch.Patch) {
	if !step.Recording() {
		return
	}
	for i, operation := range patch {
		if i == mostShown {
			step.Text("not-shown", fmt.Sprintf("%d more operations", len(patch)-i))
			break
		}
		path, _ := operation.Path()
		text := operation.Kind() + " " + path
		if from, err := operation.From(); err == nil {
			text += " from " + from
		}
		if value := operation["value"]; value != nil && step.Objects() {
			text += " " + maskText(step, string((*value)[:min(len(*value), mostValue)]))
		}
		step.Text("patch", text)
	}
}

// note writes the call of the webhook to the audit log.
func (c *call) note(changed bool) {
	value, err := json.Marshal(struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{c.hook.GetConfigurationName(), c.hook.GetName(), changed})
	if err == nil {
		_ = c.of.AddAnnotation(fmt.Sprintf("mutation.webhook.admission.k8s.io/round_%d_index_%d", c.round, c.index), string(value))
	}
}

// notePatch writes the patch to the audit log, if that records requests.
func (c *call) notePatch(patch jsonpatch.Patch) {
	value, err := json.Marshal(struct {
		Configuration string          `json:"configuration"`
		Webhook       string          `json:"webhook"`
		Patch         jsonpatch.Patch `json:"patch,omitempty"`
		PatchType     string          `json:"patchType,omitempty"`
	}{c.hook.GetConfigurationName(), c.hook.GetName(), patch, string(admissionv1.PatchTypeJSONPatch)})
	if err == nil {
		_ = c.of.AddAnnotationWithLevel(fmt.Sprintf("patch.webhook.admission.k8s.io/round_%d_index_%d", c.round, c.index), string(value),
			auditinternal.LevelRequest)
	}
}
