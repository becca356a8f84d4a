package workload

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// OrphansOf returns a policy that orphans dependents if the request uses one of versions, whose clients expect that.
// For other requests it deletes dependents.
func OrphansOf(versions ...schema.GroupVersion) func(context.Context) rest.GarbageCollectionPolicy {
	return func(ctx context.Context) rest.GarbageCollectionPolicy {
		if version, known := builtin.RequestVersion(ctx); known && slices.Contains(versions, version) {
			return rest.OrphanDependents
		}
		return rest.DeleteDependents
	}
}
