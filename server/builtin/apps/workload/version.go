package workload

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
)

// RequestVersion is the version of the API in which a client speaks, if a client does.
func RequestVersion(ctx context.Context) (schema.GroupVersion, bool) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, true
}

// OrphansOf orphans the dependents of what clients of these versions delete, which knew nothing else, and deletes them for
// all others.
func OrphansOf(versions ...schema.GroupVersion) func(context.Context) rest.GarbageCollectionPolicy {
	return func(ctx context.Context) rest.GarbageCollectionPolicy {
		if version, known := RequestVersion(ctx); known && slices.Contains(versions, version) {
			return rest.OrphanDependents
		}
		return rest.DeleteDependents
	}
}
