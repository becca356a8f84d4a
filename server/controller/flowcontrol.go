package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store"
)

// keepFlowControl keeps the flow schemas and priority levels that every server has, until ctx ends. It always
// corrects the mandatory ones. It corrects a suggested one until a user changes it, or turns that off with an
// annotation. It checks them once a minute, and returns at once if the server has no such objects.
func keepFlowControl(ctx context.Context, kit *work.Kit) {
	levels, ok := kit.Storage(priorityLevels).(work.ManagedStorage)
	if !ok {
		return
	}
	schemas, ok := kit.Storage(flowSchemas).(work.ManagedStorage)
	if !ok {
		return
	}
	c := flowControl{
		levels: ownedFlow[*flowcontrolv1.PriorityLevelConfiguration]{
			ManagedResource: work.ManagedResource[*flowcontrolv1.PriorityLevelConfiguration]{Storage: levels, Resource: priorityLevels},
			suggested:       bootstrap.SuggestedPriorityLevelConfigurations, mandatory: bootstrap.MandatoryPriorityLevelConfigurations,
			sameSpec: sameLevel, setSpec: func(to, from *flowcontrolv1.PriorityLevelConfiguration) { from.Spec.DeepCopyInto(&to.Spec) },
		},
		schemas: ownedFlow[*flowcontrolv1.FlowSchema]{
			ManagedResource: work.ManagedResource[*flowcontrolv1.FlowSchema]{Storage: schemas, Resource: flowSchemas},
			suggested:       bootstrap.SuggestedFlowSchemas, mandatory: bootstrap.MandatoryFlowSchemas,
			sameSpec: func(want, have *flowcontrolv1.FlowSchema) bool {
				return apiequality.Semantic.DeepEqual(want.Spec, have.Spec)
			},
			setSpec: func(to, from *flowcontrolv1.FlowSchema) { from.Spec.DeepCopyInto(&to.Spec) },
		},
	}
	for {
		var pause work.Backoff
		for {
			err := c.ensure(kit.Gate.Decide(ctx))
			if err == nil || ctx.Err() != nil {
				break
			}
			if errors.Is(err, store.ErrRewound) {
				continue
			}
			kit.Log.Warn("cannot make the objects of flow control that every server has: trying again", "error", err)
			pause.Wait(ctx)
		}
		if !work.Sleep(ctx, flowControlEvery) {
			return
		}
	}
}

// flowControlEvery is the pause between checks.
const flowControlEvery = time.Minute

var (
	priorityLevels = flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")
	flowSchemas    = flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")
)

// flowControl keeps the objects of flow control.
type flowControl struct {
	levels  ownedFlow[*flowcontrolv1.PriorityLevelConfiguration]
	schemas ownedFlow[*flowcontrolv1.FlowSchema]
}

// sameLevel compares specs, without the part of the exempt level that users may change.
func sameLevel(want, have *flowcontrolv1.PriorityLevelConfiguration) bool {
	if want.Name != flowcontrolv1.PriorityLevelConfigurationNameExempt {
		return apiequality.Semantic.DeepEqual(want.Spec, have.Spec)
	}
	spec := want.Spec
	spec.Exempt = have.Spec.Exempt
	return have.Spec.Exempt != nil && apiequality.Semantic.DeepEqual(spec, have.Spec)
}

// ensure corrects all objects: levels before the schemas that name them, and unwanted schemas are deleted
// before their levels.
func (c *flowControl) ensure(ctx context.Context) error {
	levels, err := c.levels.List(ctx)
	if err != nil {
		return err
	}
	schemas, err := c.schemas.List(ctx)
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return c.levels.ensure(ctx, c.levels.suggested, false, levels) },
		func() error { return c.schemas.ensure(ctx, c.schemas.suggested, false, schemas) },
		func() error { return c.levels.ensure(ctx, c.levels.mandatory, true, levels) },
		func() error { return c.schemas.ensure(ctx, c.schemas.mandatory, true, schemas) },
		func() error { return c.schemas.removeUnwanted(ctx, schemas) },
		func() error { return c.levels.removeUnwanted(ctx, levels) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// ownedFlow holds the wanted objects of a resource.
type ownedFlow[T builtin.Object] struct {
	work.ManagedResource[T]
	suggested, mandatory []T
	// sameSpec reports whether the spec of an object is correct, and setSpec copies the spec.
	sameSpec func(want, have T) bool
	setSpec  func(to, from T)
}

func (k ownedFlow[T]) ensure(ctx context.Context, wanted []T, always bool, there map[string]T) error {
	for _, w := range wanted {
		want := w.DeepCopyObject().(T)
		scheme.Scheme.Default(want)
		have, ok := there[want.GetName()]
		var err error
		if !ok {
			_, err = k.Storage.Create(k.Request(ctx, "create"), want, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		} else {
			err = k.revise(ctx, want, have.DeepCopyObject().(T), always)
		}
		if err := work.UnlessOvertaken(err); err != nil {
			return fmt.Errorf("keep %s %s: %w", k.Resource.Resource, want.GetName(), err)
		}
	}
	return nil
}

// revise updates an object whose spec or annotation is not correct.
func (k ownedFlow[T]) revise(ctx context.Context, want, have T, always bool) error {
	update := always || updatesItself(have)
	noted, err := strconv.ParseBool(have.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey])
	rightly := err == nil && noted == update
	same := !update || k.sameSpec(want, have)
	if rightly && same {
		return nil
	}
	if !same {
		k.setSpec(have, want)
	}
	if !rightly {
		annotations := maps.Clone(have.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[flowcontrolv1.AutoUpdateAnnotationKey] = strconv.FormatBool(update)
		have.SetAnnotations(annotations)
	}
	_, _, err = k.Storage.Update(k.Request(ctx, "update"), have.GetName(), rest.DefaultUpdatedObjectInfo(have),
		rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	return err
}

// updatesItself reports whether a suggested object follows the suggestion: its annotation decides, or else
// whether it was ever changed.
func updatesItself(obj metav1.Object) bool {
	if update, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]); err == nil {
		return update
	}
	return obj.GetGeneration() == 1
}

// removeUnwanted deletes the objects of an older or newer server that no user has changed.
func (k ownedFlow[T]) removeUnwanted(ctx context.Context, there map[string]T) error {
	wanted := map[string]bool{}
	for _, list := range [][]T{k.suggested, k.mandatory} {
		for _, obj := range list {
			wanted[obj.GetName()] = true
		}
	}
	for name, obj := range there {
		if update, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]); wanted[name] || err != nil ||
			!update {
			continue
		}
		_, _, err := k.Storage.Delete(k.Request(ctx, "delete"), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", k.Resource.Resource, name, err)
		}
	}
	return nil
}
