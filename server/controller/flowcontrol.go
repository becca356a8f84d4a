package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store"
)

// flowControlEvery is the pause between checks of the objects of flow control.
const flowControlEvery = time.Minute

// FlowControl keeps the flow schemas and priority levels that every server has. The mandatory ones always are as they should
// be. The suggested ones are until a user changes one, or turns that off with an annotation.
type FlowControl struct {
	levels  ownedResource[*flowcontrolv1.PriorityLevelConfiguration]
	schemas ownedResource[*flowcontrolv1.FlowSchema]
	log     *slog.Logger
}

// newFlowControl returns nil if the server has no such objects.
func newFlowControl(storages Storages, log *slog.Logger) *FlowControl {
	installed := storages()
	levels, ok := installed[flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")].(keptStorage)
	if !ok {
		return nil
	}
	schemas, ok := installed[flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")].(keptStorage)
	if !ok {
		return nil
	}
	return &FlowControl{log: log,
		levels: ownedResource[*flowcontrolv1.PriorityLevelConfiguration]{
			storage: levels, resource: flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations"),
			suggested: bootstrap.SuggestedPriorityLevelConfigurations, mandatory: bootstrap.MandatoryPriorityLevelConfigurations,
			sameSpec: sameLevel, setSpec: func(to, from *flowcontrolv1.PriorityLevelConfiguration) { from.Spec.DeepCopyInto(&to.Spec) },
		},
		schemas: ownedResource[*flowcontrolv1.FlowSchema]{
			storage: schemas, resource: flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas"),
			suggested: bootstrap.SuggestedFlowSchemas, mandatory: bootstrap.MandatoryFlowSchemas,
			sameSpec: func(want, have *flowcontrolv1.FlowSchema) bool {
				return apiequality.Semantic.DeepEqual(want.Spec, have.Spec)
			},
			setSpec: func(to, from *flowcontrolv1.FlowSchema) { from.Spec.DeepCopyInto(&to.Spec) },
		},
	}
}

// sameLevel compares specs. Users may change how much the exempt level lends.
func sameLevel(want, have *flowcontrolv1.PriorityLevelConfiguration) bool {
	if want.Name != flowcontrolv1.PriorityLevelConfigurationNameExempt {
		return apiequality.Semantic.DeepEqual(want.Spec, have.Spec)
	}
	spec := want.Spec
	spec.Exempt = have.Spec.Exempt
	return have.Spec.Exempt != nil && apiequality.Semantic.DeepEqual(spec, have.Spec)
}

// run checks the objects again and again until ctx ends.
func (c *FlowControl) run(ctx context.Context) {
	for {
		var pause backoff
		for {
			err := c.ensure(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			c.log.Warn("cannot make the objects of flow control that every server has: trying again", "error", err)
			pause.wait(ctx)
		}
		timer := time.NewTimer(flowControlEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// ensure makes all objects what they should be: levels before the schemas that name them, and unwanted schemas deleted before
// their levels.
func (c *FlowControl) ensure(ctx context.Context) error {
	levels, err := c.levels.list(ctx)
	if err != nil {
		return err
	}
	schemas, err := c.schemas.list(ctx)
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

type keptStorage interface {
	rest.Lister
	rest.Creater
	rest.Updater
	rest.GracefulDeleter
}

// ownedResource is a resource of which a server manages some objects.
type ownedResource[T builtin.Object] struct {
	storage              keptStorage
	resource             schema.GroupVersionResource
	suggested, mandatory []T
	// sameSpec says whether the spec of an object is as it should be, and setSpec makes it so.
	sameSpec func(want, have T) bool
	setSpec  func(to, from T)
}

func (k ownedResource[T]) request(ctx context.Context, verb string) context.Context {
	return as(ctx, apiServer, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: k.resource.Group, APIVersion: k.resource.Version, Resource: k.resource.Resource,
	})
}

// list returns the existing objects by name. It does not start the filling of a watch cache.
func (k ownedResource[T]) list(ctx context.Context) (map[string]T, error) {
	list, err := k.storage.List(store.Aside(k.request(ctx, "list")), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	byName := map[string]T{}
	return byName, meta.EachListItem(list, func(obj runtime.Object) error {
		t, err := builtin.As[T](obj)
		if err == nil {
			byName[t.GetName()] = t
		}
		return err
	})
}

func (k ownedResource[T]) ensure(ctx context.Context, wanted []T, always bool, there map[string]T) error {
	for _, w := range wanted {
		want := w.DeepCopyObject().(T)
		scheme.Scheme.Default(want)
		have, ok := there[want.GetName()]
		var err error
		if !ok {
			_, err = k.storage.Create(k.request(ctx, "create"), want, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		} else {
			err = k.revise(ctx, want, have.DeepCopyObject().(T), always)
		}
		if err := unlessOvertaken(err); err != nil {
			return fmt.Errorf("keep %s %s: %w", k.resource.Resource, want.GetName(), err)
		}
	}
	return nil
}

// revise updates an object whose spec or annotation is not as it should be.
func (k ownedResource[T]) revise(ctx context.Context, want, have T, always bool) error {
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
	_, _, err = k.storage.Update(k.request(ctx, "update"), have.GetName(), rest.DefaultUpdatedObjectInfo(have),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

// updatesItself says whether a suggested object follows the suggestion: as its annotation says, or else until it is changed.
func updatesItself(obj metav1.Object) bool {
	if update, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]); err == nil {
		return update
	}
	return obj.GetGeneration() == 1
}

// removeUnwanted deletes the objects of an older or newer server that no user has taken over.
func (k ownedResource[T]) removeUnwanted(ctx context.Context, there map[string]T) error {
	wanted := map[string]bool{}
	for _, list := range [][]T{k.suggested, k.mandatory} {
		for _, obj := range list {
			wanted[obj.GetName()] = true
		}
	}
	for name, obj := range there {
		if update, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]); wanted[name] || err != nil || !update {
			continue
		}
		_, _, err := k.storage.Delete(k.request(ctx, "delete"), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", k.resource.Resource, name, err)
		}
	}
	return nil
}
