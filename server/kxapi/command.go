package kxapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	utiljson "sigs.k8s.io/json"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// CommandREST is the storage of journeys/step. Creating a command carries it out.
type CommandREST struct {
	journeys *journeys
	allow    *recordings
	// tend renews the leases of breakpoints, because a command shows that a user works with them.
	tend func()
}

func (r *CommandREST) New() runtime.Object { return &v1alpha1.JourneyCommand{} }
func (r *CommandREST) Destroy()            {}

var journeyResource = groupResource("journeys")

var actions = map[v1alpha1.JourneyAction]trace.Action{
	v1alpha1.ActionNext: trace.Next, v1alpha1.ActionInto: trace.Into, v1alpha1.ActionOut: trace.Out,
	v1alpha1.ActionContinue: trace.Continue, v1alpha1.ActionFail: trace.Fail, v1alpha1.ActionDelay: trace.Delay,
}

// Create gives a held request a command, and returns its journey when it is held again or has ended.
func (r *CommandREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	command := obj.(*v1alpha1.JourneyCommand)
	if err := r.allows(command.Spec.Action, name); err != nil {
		return nil, err
	}
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("a command can't be tried: leave out dryRun")
	}
	j := r.journeys.recorder.Get(name)
	if j == nil {
		return nil, apierrors.NewNotFound(journeyResource, name)
	}
	by := ""
	if u, ok := request.UserFrom(ctx); ok {
		by = u.GetName()
	}
	cmd, errs := readCommand(&command.Spec, by)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("JourneyCommand").GroupKind(), name, errs)
	}
	if err := validate(ctx, obj.DeepCopyObject()); err != nil {
		return nil, err
	}
	r.tend()
	step := -1
	if command.Spec.Step != nil {
		step = int(*command.Spec.Step)
	}
	if err := carryOut(j, step, &command.Spec, cmd); err != nil {
		return nil, refusal(j, name, err)
	}
	return r.journeys.whole(ctx, j)
}

// allows checks that the server allows a command now: ending a watch is a fault, all others need breakpoints.
func (r *CommandREST) allows(action v1alpha1.JourneyAction, name string) error {
	err := r.allow.refuse("breakpoints", v1alpha1.AllowBreakpoints)
	if action == v1alpha1.ActionDrop {
		err = r.allow.refuse("faults", v1alpha1.AllowFaults)
	}
	if err != nil {
		return apierrors.NewForbidden(journeyResource, name, err)
	}
	return nil
}

// readCommand parses and validates a command.
func readCommand(s *v1alpha1.JourneyCommandSpec, by string) (trace.Command, field.ErrorList) {
	spec, errs := field.NewPath("spec"), field.ErrorList(nil)
	known := append(slices.Sorted(maps.Keys(actions)), v1alpha1.ActionDrop, v1alpha1.ActionEdit)
	if !slices.Contains(known, s.Action) {
		errs = append(errs, field.NotSupported(spec.Child("action"), s.Action, known))
	}
	if s.Step != nil {
		errs = append(errs, atLeast(spec.Child("step"), int64(*s.Step), 0)...)
	}
	cmd := trace.Command{Action: actions[s.Action], By: by}
	switch s.Action {
	case v1alpha1.ActionFail:
		errs = append(errs, checkCode(spec.Child("code"), s.Code)...)
		message := s.Message
		if message == "" {
			message = "injected while the request was held"
		}
		cmd.Err = injectedError(s.Code, 0, message)
	case v1alpha1.ActionDelay:
		var more field.ErrorList
		cmd.Delay, more = readDelay(spec.Child("delay"), s.Delay, true)
		errs = append(errs, more...)
	case v1alpha1.ActionEdit:
		if s.Patch == nil || len(s.Patch.Raw) == 0 {
			errs = append(errs, field.Required(spec.Child("patch"), "what to change"))
		}
	}
	return cmd, errs
}

func carryOut(j *trace.Journey, step int, s *v1alpha1.JourneyCommandSpec, cmd trace.Command) error {
	switch s.Action {
	case v1alpha1.ActionDrop:
		return j.Drop(cmd.By)
	case v1alpha1.ActionEdit:
		return j.Edit(step, cmd.By, func(obj runtime.Object) (string, error) { return mergeInto(obj, s.Patch.Raw) })
	}
	return j.Tell(step, cmd)
}

// refusal returns the client's error for a command that could not be carried out.
func refusal(j *trace.Journey, name string, err error) error {
	switch {
	case errors.Is(err, trace.ErrNotHeld):
		if !j.Summary().Running {
			err = errors.New("the request is not held any more: it has ended")
		}
		return apierrors.NewConflict(journeyResource, name, err)
	case errors.Is(err, trace.ErrNoWatch):
		if !j.Summary().Running {
			err = errors.New("the watch has ended already")
		}
		return apierrors.NewConflict(journeyResource, name, err)
	case errors.Is(err, trace.ErrNoFail):
		return apierrors.NewBadRequest(err.Error() + "; these can: " + stepsThat(func(i steps.Info) bool { return i.Fails }))
	case errors.Is(err, trace.ErrNoObject):
		return apierrors.NewBadRequest(err.Error() + "; these have one, at their start: " +
			stepsThat(func(i steps.Info) bool { return i.Edits }))
	}
	return apierrors.NewBadRequest(err.Error())
}

func stepsThat(can func(steps.Info) bool) string {
	var names []string
	for _, id := range steps.All() {
		if can(id.Info()) {
			names = append(names, id.String())
		}
	}
	return strings.Join(names, ", ")
}

// mergeInto changes an object in place and returns the names of the changed fields. It omits their values, which may be
// secret.
func mergeInto(obj runtime.Object, patch []byte) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return "", fmt.Errorf("the patch is not a JSON object: %w", err)
	}
	before, err := json.Marshal(obj)
	if err != nil {
		return "", fmt.Errorf("the object has no JSON: %w", err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return "", fmt.Errorf("apply the patch: %w", err)
	}
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	if strict, err := utiljson.UnmarshalStrict(after, fresh.Interface()); err != nil {
		return "", fmt.Errorf("read what the patch makes of the object: %w", err)
	} else if len(strict) > 0 {
		return "", fmt.Errorf("read what the patch makes of the object: %w", errors.Join(strict...))
	}
	if err := sameIdentity(obj, fresh.Interface().(runtime.Object)); err != nil {
		return "", err
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return "edited while held: " + strings.Join(leaves(nil, "", fields), ", "), nil
}

// sameIdentity refuses an edit of the fields that identify an object, because its key is already determined.
func sameIdentity(before, after runtime.Object) error {
	b, err := meta.Accessor(before)
	if err != nil {
		return err
	}
	a, err := meta.Accessor(after)
	if err != nil {
		return err
	}
	same := a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace() && a.GetUID() == b.GetUID() &&
		a.GetResourceVersion() == b.GetResourceVersion() &&
		before.GetObjectKind().GroupVersionKind() == after.GetObjectKind().GroupVersionKind()
	if !same {
		return errors.New("kind, name, namespace, UID and resourceVersion of a held object can't be edited")
	}
	return nil
}

// leaves returns the paths of the fields that a patch sets, in order.
func leaves(to []string, at string, fields map[string]any) []string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		path := at + "." + name
		if inner, ok := fields[name].(map[string]any); ok && len(inner) > 0 {
			to = leaves(to, path, inner)
			continue
		}
		to = append(to, strings.TrimPrefix(path, "."))
	}
	return to
}
