package customresource

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/store"
)

// GetList implements store.Interface. All that is read at once is converted at once.
func (v *view) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) error {
	list, ok := listObj.(*unstructured.UnstructuredList)
	if !ok {
		return store.NewInternalError(fmt.Errorf("list custom resources: %T is no list of them", listObj))
	}
	if v.selectsAbove(&opts.Predicate) {
		return v.selectList(ctx, key, opts, list)
	}
	if err := v.Interface.GetList(ctx, key, opts, list); err != nil {
		return err
	}
	return v.convertList(ctx, list)
}

// maxPage is how many objects are read at once to fill a page with those of them that are selected.
const maxPage = 10000

// selectList fills list with what opts select of the converted objects. With a limit it reads page after page, each one
// larger than the last, until the list is full.
func (v *view) selectList(ctx context.Context, key string, opts store.ListOptions, list *unstructured.UnstructuredList) error {
	selects := opts.Predicate
	limit := int(selects.Limit)
	opts.Predicate = unselected(selects)
	list.Items = []unstructured.Unstructured{}
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(v.listKind)
		if err := v.Interface.GetList(ctx, key, opts, page); err != nil {
			return err
		}
		if err := v.convertList(ctx, page); err != nil {
			return err
		}
		list.SetResourceVersion(page.GetResourceVersion())
		list.SetContinue(page.GetContinue())
		for i := range page.Items {
			matches, err := selects.Matches(&page.Items[i])
			if err != nil || !matches {
				continue // what a selector can't look into is not selected
			}
			list.Items = append(list.Items, page.Items[i])
			if limit > 0 && len(list.Items) == limit && i < len(page.Items)-1 {
				token, err := v.continueAfter(&page.Items[i], key, page.GetResourceVersion())
				list.SetContinue(token)
				return err
			}
		}
		if page.GetContinue() == "" || len(list.Items) == limit {
			return nil
		}
		// From now on the token says at which revision.
		opts.ResourceVersion, opts.ResourceVersionMatch = "", ""
		opts.Predicate.Continue = page.GetContinue()
		opts.Predicate.Limit = min(2*opts.Predicate.Limit, maxPage)
	}
}

// continueAfter is the token of a list below key that goes on after an object.
func (v *view) continueAfter(last *unstructured.Unstructured, key, resourceVersion string) (string, error) {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return "", store.NewInternalError(fmt.Errorf("continue a list of custom resources: %w", err))
	}
	below := key + "/"
	return store.EncodeContinue(v.keyOf(last, key)+"\x00", below, revision)
}

// keyOf is the key of an object that was found below key: of one namespace or of all.
func (v *view) keyOf(u *unstructured.Unstructured, key string) string {
	if namespace := u.GetNamespace(); namespace != "" && key == v.prefix {
		key += "/" + namespace
	}
	return key + "/" + u.GetName()
}

// previous is an object as it was before the change that has a revision, converted; nil if it was not there.
func (v *view) previous(ctx context.Context, key string, revision uint64) (*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v.listKind)
	err := v.Interface.GetList(ctx, key, store.ListOptions{
		ResourceVersion:      strconv.FormatUint(revision-1, 10),
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		Predicate:            store.Everything,
	}, list)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	if err := v.convertList(ctx, list); err != nil {
		return nil, err
	}
	return &list.Items[0], nil
}
