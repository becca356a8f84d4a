package workload

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
)

// RequestVersion is the version of the API that the request uses, if ctx is a request's.
func RequestVersion(ctx context.Context) (schema.GroupVersion, bool) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, true
}

// OrphansOf orphans dependents if the request uses one of versions, whose clients expect that, and deletes them for
// all others.
func OrphansOf(versions ...schema.GroupVersion) func(context.Context) rest.GarbageCollectionPolicy {
	return func(ctx context.Context) rest.GarbageCollectionPolicy {
		if version, known := RequestVersion(ctx); known && slices.Contains(versions, version) {
			return rest.OrphanDependents
		}
		return rest.DeleteDependents
	}
}
