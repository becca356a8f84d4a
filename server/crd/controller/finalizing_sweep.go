package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	controllers "github.com/kx-apiserver/kx/server/controller/work"
)

// pageSize limits the objects in memory at a time.
const pageSize = 500

// sweep deletes the objects of d, in each namespace that has any without a deletion timestamp. left reports
// whether it found any objects. On an error, failure is the condition that reports it.
func (c *finalizing) sweep(ctx context.Context, d *Definition,
	objects ListerCollectionDeleter) (left bool, failure condition, err error) {
	left, namespaces, err := findObjects(ctx, d, objects)
	if err != nil {
		return left, failed("could not list instances: %v", err), err
	}
	var errs []error
	for _, namespace := range namespaces {
		if err := c.deleteAll(ctx, d, namespace, objects); err != nil {
			errs = append(errs, err)
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return left, failed("could not issue all deletes: %v", err), err
	}
	return left, condition{}, nil
}

var definitionEnds = trace.Because("definition-ends",
	"the definition is being deleted, and its objects go first",
	"该 CRD 正在删除，先删除它的对象")

// deleteAll deletes the objects in a namespace.
func (c *finalizing) deleteAll(ctx context.Context, d *Definition, namespace string, objects ListerCollectionDeleter) (err error) {
	info := infoOf(d, "deletecollection", namespace)
	ctx, end := c.status.Begin(ctx, d, controllers.Write{
		Verb: info.Verb, Resource: schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource},
		Namespace: namespace, Why: func(step *trace.Step) { step.Why(definitionEnds) },
	})
	defer end(&err)
	_, err = objects.DeleteCollection(ctx, rest.ValidateAllObjectFunc, metav1.NewDeleteOptions(0), &metainternalversion.ListOptions{})
	return err
}

// findObjects reports whether there are any objects, and returns the namespaces with objects that are not being
// deleted yet. The namespace of a cluster-scoped object is "".
func findObjects(ctx context.Context, d *Definition, objects ListerCollectionDeleter) (any bool, namespaces []string, err error) {
	seen := map[string]bool{}
	page := &metainternalversion.ListOptions{Limit: pageSize}
	for {
		list, err := objects.List(withWriter(ctx, infoOf(d, "list", "")), page)
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

// infoOf describes a request for d's objects.
func infoOf(d *Definition, verb, namespace string) *request.RequestInfo {
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: namespace, APIGroup: d.Spec.Group, Resource: d.Spec.Names.Plural,
	}
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Storage {
			info.APIVersion = d.Spec.Versions[i].Name
		}
	}
	return info
}
