package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
)

// Unreadable is a stored value that can't be decrypted or decoded, or that is no object: an empty value decodes to an
// object without a name.
type Unreadable struct {
	// Key is relative to the prefix of all keys, as the commands of kx etcd take it.
	Key      string
	Revision int64
	Err      error
}

func (u *Unreadable) Unwrap() error { return u.Err }

// Error also names the commands that repair or remove the value.
func (u *Unreadable) Error() string {
	return fmt.Sprintf(
		"the stored value of %s can't be read: %s; "+
			"see `kx etcd history %[1]s` for earlier values, `kx etcd put` to mend it and `kx etcd delete` to give it up",
		escape.Line(u.Key), escape.Line(u.Err.Error()))
}

// ErrNameless reports that a stored value decodes to an object without a name, and so is no object.
var ErrNameless = errors.New("it is an object without a name")

// named reports whether all items of a list have names.
func named(list runtime.Object) bool {
	return object.Each(context.Background(), list, func(item runtime.Object) error {
		if !isNamed(item) {
			return ErrNameless
		}
		return nil
	}) == nil
}

func isNamed(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	return err == nil && m.GetName() != ""
}

// ListReadable lists like List, but unreadable objects do not fail it: the list leaves them out, and missing holds
// them.
func ListReadable(ctx context.Context, r rest.Lister,
	options *metainternalversion.ListOptions) (list runtime.Object, missing []*Unreadable, err error) {
	list, err = r.List(ctx, options)
	encoded, ok := r.(rest.EncodedLister)
	if !ok || err == nil && named(list) || err != nil && !apierrors.IsStoreReadError(err) {
		return list, nil, err
	}
	answer, err := encoded.ListEncoded(store.WithUnreadable(ctx), options)
	if err != nil {
		return nil, nil, err
	}
	whole, ok := answer.(*object.List)
	if !ok {
		return answer, nil, nil
	}
	var items []runtime.Object
	for item, err := range whole.Items(ctx) {
		if err != nil {
			return nil, nil, err
		}
		obj, err := object.Own(ctx, item)
		if err == nil && !isNamed(obj) {
			err = ErrNameless
		}
		if stored, ok := item.(*object.Encoded); ok && err != nil {
			missing = append(missing, &Unreadable{Key: strings.TrimPrefix(stored.Key(), "/"), Revision: stored.Revision(), Err: err})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		items = append(items, obj)
	}
	if list, err = whole.Empty(); err != nil {
		return nil, nil, err
	}
	return list, missing, meta.SetList(list, items)
}
