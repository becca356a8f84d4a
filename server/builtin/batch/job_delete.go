package batch

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// REST is the storage of jobs.
type REST struct{ *builtin.REST }

func newREST(r *builtin.REST) rest.Storage { return &REST{r} }

// Delete warns clients that give no policy for the pods.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if options != nil {
		warnOfOrphans(ctx, options)
	}
	return r.REST.Delete(ctx, name, deleteValidation, options)
}

// DeleteCollection warns as Delete does.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *internalversion.ListOptions) (runtime.Object, error) {
	warnOfOrphans(ctx, options)
	return r.REST.DeleteCollection(ctx, deleteValidation, options, listOptions)
}

func warnOfOrphans(ctx context.Context, options *metav1.DeleteOptions) {
	//lint:ignore SA1019 Clients may still say it in the old way.
	said := options.PropagationPolicy != nil || options.OrphanDependents != nil
	if !said && dependents(ctx) == rest.OrphanDependents {
		warning.AddWarning(ctx, "", "child pods are preserved by default when jobs are deleted; "+
			"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
	}
}
