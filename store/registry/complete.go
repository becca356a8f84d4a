package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
)

// StoreOptions complete a Store.
type StoreOptions struct {
	// RESTOptions knows how the resource is kept.
	RESTOptions backend.RESTOptionsGetter
	// AttrFunc is what selectors may look at; unset is labels, name and namespace.
	AttrFunc store.AttrFunc
	// TriggerFunc and Indexers are for a cacher: values that it finds watchers and objects by. The names of indexers
	// begin with "l:" for a label and "f:" for a field.
	TriggerFunc store.IndexerFuncs
	Indexers    *cache.Indexers
}

// CompleteWithOptions checks what the Store must have, fills in what it may leave out, and makes its storage unless it
// has one.
func (e *Store) CompleteWithOptions(options *StoreOptions) error {
	if err := errors.Join(e.missing()...); err != nil {
		return fmt.Errorf("complete the store of %q: %w", e.DefaultQualifiedResource.String(), err)
	}
	if err := options.validate(); err != nil {
		return fmt.Errorf("complete the store of %s: %w", e.DefaultQualifiedResource, err)
	}
	opts, err := options.RESTOptions.GetRESTOptions(e.DefaultQualifiedResource, e.NewFunc())
	if err != nil {
		return fmt.Errorf("get the storage options of %s: %w", e.DefaultQualifiedResource, err)
	}
	prefix := "/" + strings.TrimPrefix(opts.ResourcePrefix, "/")
	if prefix == "/" {
		return fmt.Errorf("store for %s has an invalid prefix %q", e.DefaultQualifiedResource, opts.ResourcePrefix)
	}

	namespaced := e.NamespaceScoped()
	attrs := options.AttrFunc
	if attrs == nil {
		attrs = store.DefaultClusterScopedAttr
		if namespaced {
			attrs = store.DefaultNamespaceScopedAttr
		}
	}
	e.fillIn(prefix, namespaced, attrs, opts)
	if e.Storage.Storage == nil {
		if err := e.makeStorage(prefix, namespaced, attrs, opts, options); err != nil {
			return err
		}
	}
	e.ReadinessCheckFunc = e.Storage.Storage.ReadinessCheck
	e.corruptObjDeleter = NewCorruptObjectDeleter(e)
	return nil
}

// missing says what nobody but the resource can know, and did not say.
func (e *Store) missing() []error {
	rules := []struct {
		broken  bool
		problem string
	}{
		{e.DefaultQualifiedResource.Empty(), "DefaultQualifiedResource must be set"},
		{e.SingularQualifiedResource.Empty(), "SingularQualifiedResource must be set"},
		{e.DefaultQualifiedResource.Group != e.SingularQualifiedResource.Group,
			"DefaultQualifiedResource and SingularQualifiedResource must be of one group"},
		{e.NewFunc == nil, "NewFunc must be set"},
		{e.NewListFunc == nil, "NewListFunc must be set"},
		{(e.KeyRootFunc == nil) != (e.KeyFunc == nil), "KeyRootFunc and KeyFunc must be set both, or neither"},
		{e.TableConvertor == nil, "TableConvertor must be set; rest.NewDefaultTableConvertor shows name and age"},
		{e.CreateStrategy == nil && e.UpdateStrategy == nil, "CreateStrategy or UpdateStrategy must be set"},
		{e.DeleteStrategy == nil, "DeleteStrategy must be set"},
	}
	var errs []error
	for _, rule := range rules {
		if rule.broken {
			errs = append(errs, errors.New(rule.problem))
		}
	}
	return errs
}

func (o *StoreOptions) validate() error {
	if o == nil || o.RESTOptions == nil {
		return errors.New("options must have RESTOptions set")
	}
	if o.Indexers == nil {
		return nil
	}
	for name := range *o.Indexers {
		if len(name) <= 2 || (name[:2] != "l:" && name[:2] != "f:") {
			return fmt.Errorf("index %q must prefix with \"l:\" or \"f:\"", name)
		}
	}
	return nil
}

// fillIn sets what the resource left to the defaults.
func (e *Store) fillIn(prefix string, namespaced bool, attrs store.AttrFunc, opts backend.RESTOptions) {
	e.EnableGarbageCollection = opts.EnableGarbageCollection
	if e.DeleteCollectionWorkers == 0 {
		e.DeleteCollectionWorkers = opts.DeleteCollectionWorkers
	}
	if e.PredicateFunc == nil {
		e.PredicateFunc = func(label labels.Selector, field fields.Selector) store.SelectionPredicate {
			return store.SelectionPredicate{Label: label, Field: field, GetAttrs: attrs}
		}
	}
	if e.ObjectNameFunc == nil {
		e.ObjectNameFunc = func(obj runtime.Object) (string, error) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return "", err
			}
			return m.GetName(), nil
		}
	}
	switch {
	case e.KeyFunc != nil:
	case namespaced:
		e.KeyRootFunc = func(ctx context.Context) string { return NamespaceKeyRootFunc(ctx, prefix) }
		e.KeyFunc = func(ctx context.Context, name string) (string, error) { return NamespaceKeyFunc(ctx, prefix, name) }
	default:
		e.KeyRootFunc = func(context.Context) string { return prefix }
		e.KeyFunc = func(ctx context.Context, name string) (string, error) { return NoNamespaceKeyFunc(ctx, prefix, name) }
	}
}

// makeStorage has the storage made, and counted.
func (e *Store) makeStorage(prefix string, namespaced bool, attrs store.AttrFunc, opts backend.RESTOptions, options *StoreOptions) error {
	storage, destroy, err := opts.Decorator(opts.StorageConfig, prefix, objectKeyFunc(namespaced, e.KeyFunc),
		e.NewFunc, e.NewListFunc, attrs, options.TriggerFunc, options.Indexers)
	if err != nil {
		return fmt.Errorf("make the storage of %s: %w", e.DefaultQualifiedResource, err)
	}
	e.Storage = DryRunnableStorage{Storage: storage, Codec: opts.StorageConfig.Codec}
	e.StorageVersioner = opts.StorageConfig.EncodeVersioner
	e.DestroyFunc = destroy
	if opts.CountMetricPollPeriod > 0 {
		e.DestroyFunc = countObjects(e.DefaultQualifiedResource, storage, opts.CountMetricPollPeriod, destroy)
	}
	return nil
}
