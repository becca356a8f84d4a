package finalizing

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/controller/work"
)

// pageSize bounds how many objects are in memory at a time.
const pageSize = 500

// sweep deletes the objects of d in each namespace that has some which are not being deleted yet. It says whether it found
// any. On an error, failure is the condition that reports it.
func sweep(ctx context.Context, d *work.Definition, objects ListerCollectionDeleter) (left bool, failure condition, err error) {
	left, namespaces, err := find(ctx, d, objects)
	if err != nil {
		return left, failed("could not list instances: %v", err), err
	}
	var errs []error
	for _, namespace := range namespaces {
		_, err := objects.DeleteCollection(as(ctx, d, "deletecollection", namespace), rest.ValidateAllObjectFunc,
			metav1.NewDeleteOptions(0), &metainternalversion.ListOptions{})
		if err != nil {
			errs = append(errs, err)
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return left, failed("could not issue all deletes: %v", err), err
	}
	return left, condition{}, nil
}

// find says whether there are any objects, and which namespaces have some that nobody has deleted. The namespace of a
// cluster-scoped object is "".
func find(ctx context.Context, d *work.Definition, objects ListerCollectionDeleter) (any bool, namespaces []string, err error) {
	seen := map[string]bool{}
	page := &metainternalversion.ListOptions{Limit: pageSize}
	for {
		list, err := objects.List(as(ctx, d, "list", ""), page)
		if err != nil {
			return any, nil, err
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			any = true
			m, err := meta.Accessor(item)
			if err == nil && m.GetDeletionTimestamp() == nil && !seen[m.GetNamespace()] {
				seen[m.GetNamespace()] = true
				namespaces = append(namespaces, m.GetNamespace())
			}
			return err
		})
		if err != nil {
			return any, nil, err
		}
		m, err := meta.ListAccessor(list)
		if err != nil {
			return any, nil, err
		}
		if m.GetContinue() == "" {
			slices.Sort(namespaces)
			return any, namespaces, nil
		}
		page = &metainternalversion.ListOptions{Limit: pageSize, Continue: m.GetContinue()}
	}
}

// as returns the context of a request for d's objects.
func as(ctx context.Context, d *work.Definition, verb, namespace string) context.Context {
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: namespace, APIGroup: d.Spec.Group, Resource: d.Spec.Names.Plural,
	}
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Storage {
			info.APIVersion = d.Spec.Versions[i].Name
		}
	}
	return work.As(ctx, info)
}
