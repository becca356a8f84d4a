package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
)

// StoreOptions complete a Store.
type StoreOptions struct {
	// RESTOptions knows how the server stores the resource.
	RESTOptions backend.RESTOptionsGetter
	// TriggerFunc gives a cacher the values by which it finds watchers and objects.
	TriggerFunc store.IndexerFuncs
}

// CompleteWithOptions checks the Store's description, and makes its storage.
func (e *Store) CompleteWithOptions(options *StoreOptions) (err error) {
	e.notes = trace.NewNotes(trace.StepNote{}, 1)
	note := trace.Note(e.notes, steps.StorageComplete, e.DefaultQualifiedResource.String())
	defer note.End(&err)
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
	opts.ResourcePrefix = prefix
	e.options = opts
	opts.StorageConfig.Notes.SetCaller(note)
	if e.CreateStrategy != nil {
		e.namespaced = e.CreateStrategy.NamespaceScoped()
	} else {
		e.namespaced = e.UpdateStrategy.NamespaceScoped()
	}
	if e.AttrFunc == nil {
		e.AttrFunc = store.DefaultClusterScopedAttr
		if e.namespaced {
			e.AttrFunc = store.DefaultNamespaceScopedAttr
		}
	}
	return e.makeStorage(options)
}

// CompleteFrom completes the Store of another version of a resource. It shares the storage of whole, and reads and
// writes through view, which converts.
func (e *Store) CompleteFrom(whole *Store, view DryRunnableStorage) {
	e.options, e.namespaced, e.DestroyFunc, e.Storage, e.notes = whole.options, whole.namespaced, whole.DestroyFunc, view, whole.notes
}

// missing lists what only the resource's author can know, and did not say.
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
	return nil
}

// makeStorage calls the server's decorator, and starts to count the objects if the server wants that.
func (e *Store) makeStorage(options *StoreOptions) error {
	config := e.options.StorageConfig
	storage, destroy, err := e.options.Decorator(config, e.options.ResourcePrefix,
		e.NewFunc, e.NewListFunc, e.AttrFunc, options.TriggerFunc)
	if err != nil {
		return fmt.Errorf("make the storage of %s: %w", e.DefaultQualifiedResource, err)
	}
	e.Storage = DryRunnableStorage{Storage: storage, Codec: config.Codec}
	e.DestroyFunc = destroy
	if period := e.options.CountMetricPollPeriod; period > 0 {
		e.DestroyFunc = countObjects(e.DefaultQualifiedResource, storage, config.Shared.Metrics, period, destroy)
	}
	return nil
}
