package registry

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/rest"
)

// finalizersForDeletion are the finalizers that an object gets when it is deleted, and whether they differ from those
// it has. Of the two that speak to the garbage collector, "orphan" and "foregroundDeletion", it has afterwards the one
// that its propagation calls for; all others stay.
func (e *Store) finalizersForDeletion(ctx context.Context, m metav1.Object, options *metav1.DeleteOptions) (finalizers []string,
	changed bool) {
	if !e.options.EnableGarbageCollection {
		return nil, false
	}
	had := m.GetFinalizers()
	wants := e.propagationFinalizer(ctx, had, options)
	for _, f := range had {
		if !isPropagationFinalizer(f) {
			finalizers = append(finalizers, f)
		}
	}
	if wants != "" {
		finalizers = append(finalizers, wants)
	}
	same := len(had) == len(finalizers) && !slices.ContainsFunc(had, func(f string) bool { return !slices.Contains(finalizers, f) })
	return finalizers, !same
}

func isPropagationFinalizer(f string) bool {
	return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
}

// propagationFinalizer returns the finalizer that makes the garbage collector treat the dependents as requested. It
// returns "" for background deletion, which the collector does by itself.
//
// The first of these that is set decides: the client's options, a finalizer that the object has already, the
// resource's policy. A resource that the collector can't handle never gets a finalizer.
func (e *Store) propagationFinalizer(ctx context.Context, had []string, options *metav1.DeleteOptions) string {
	policy := rest.DeleteDependents
	if strategy, ok := e.DeleteStrategy.(rest.GarbageCollectionDeleteStrategy); ok {
		policy = strategy.DefaultGarbageCollectionPolicy(ctx)
	}
	if policy == rest.Unsupported {
		return ""
	}
	if finalizer, said := propagationOf(options); said {
		return finalizer
	}
	if i := slices.IndexFunc(had, isPropagationFinalizer); i >= 0 {
		return had[i]
	}
	if policy == rest.OrphanDependents {
		return metav1.FinalizerOrphanDependents
	}
	return ""
}

// propagationOf is the finalizer that the client's options call for, and whether they say anything.
func propagationOf(options *metav1.DeleteOptions) (finalizer string, said bool) {
	if options == nil {
		return "", false
	}
	//lint:ignore SA1019 Old clients say it this way; where both are given validation has refused it.
	if orphan := options.OrphanDependents; orphan != nil {
		if *orphan {
			return metav1.FinalizerOrphanDependents, true
		}
		return "", true
	}
	if options.PropagationPolicy == nil {
		return "", false
	}
	switch *options.PropagationPolicy {
	case metav1.DeletePropagationOrphan:
		return metav1.FinalizerOrphanDependents, true
	case metav1.DeletePropagationForeground:
		return metav1.FinalizerDeleteDependents, true
	case metav1.DeletePropagationBackground:
		return "", true
	}
	return "", false
}
