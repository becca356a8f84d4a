package registry

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// NamespaceKeyRootFunc is the key of all objects of a request's namespace, or of all namespaces if it has none.
func NamespaceKeyRootFunc(ctx context.Context, prefix string) string {
	if ns := request.NamespaceValue(ctx); ns != "" {
		return prefix + "/" + ns
	}
	return prefix
}

// NamespaceKeyFunc is the key of one object in a request's namespace.
func NamespaceKeyFunc(ctx context.Context, prefix, name string) (string, error) {
	ns := request.NamespaceValue(ctx)
	if ns == "" {
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	}
	return NoNamespaceKeyFunc(ctx, prefix+"/"+ns, name)
}

// NoNamespaceKeyFunc is the key of one object of a resource that has no namespaces.
func NoNamespaceKeyFunc(_ context.Context, prefix, name string) (string, error) {
	if name == "" {
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if msgs := content.IsPathSegmentName(name); len(msgs) != 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(msgs, ";")))
	}
	return prefix + "/" + name, nil
}

// KeyRootFunc is the key under which the objects of a request lie, without a slash at its end.
func (e *Store) KeyRootFunc(ctx context.Context) string {
	if e.namespaced {
		return NamespaceKeyRootFunc(ctx, e.options.ResourcePrefix)
	}
	return e.options.ResourcePrefix
}

var (
	keyInNamespace = trace.Because("key-in-namespace",
		"NamespaceKeyFunc made {key:word}",
		"NamespaceKeyFunc 生成 {key:word}")
	keyWithoutSpace = trace.Because("key-without-space",
		"the resource has no namespaces: NoNamespaceKeyFunc made {key:word}",
		"资源不分命名空间：NoNamespaceKeyFunc 生成 {key:word}")
	keyRefused = trace.Because("key-refused", "no key can be made of that", "无法由此生成键")
)

// KeyFunc is the key of one object of a request.
func (e *Store) KeyFunc(ctx context.Context, name string) (key string, err error) {
	_, step := trace.Start(ctx, steps.StoreKey, name)
	defer step.End(&err)
	key, err = e.keyOf(ctx, name)
	switch {
	case err != nil:
		step.Why(keyRefused)
	case e.namespaced:
		step.WhyText(keyInNamespace, key)
	default:
		step.WhyText(keyWithoutSpace, key)
	}
	return key, err
}

func (e *Store) keyOf(ctx context.Context, name string) (string, error) {
	if e.namespaced {
		return NamespaceKeyFunc(ctx, e.options.ResourcePrefix, name)
	}
	return NoNamespaceKeyFunc(ctx, e.options.ResourcePrefix, name)
}

// KeyPrefix begins the keys of all objects of the resource, below the prefix of all keys in etcd.
func (e *Store) KeyPrefix() string { return e.options.ResourcePrefix + "/" }

// DryRunnableStorage stands in front of a storage and stops the writes of a dry run. For a dry run it reads the
// present state, computes the storage's result, and answers as if the write had happened.
type DryRunnableStorage struct {
	Storage store.Interface
	// Codec encodes the object of a dry run, and decodes it again as a reader would.
	Codec runtime.Codec
}

func (s *DryRunnableStorage) Versioner() store.Versioner { return s.Storage.Versioner() }

func (s *DryRunnableStorage) Stats(ctx context.Context) (store.Stats, error) {
	return s.Storage.Stats(ctx)
}

// keepsEncoded says whether the storage reads and writes objects without decoding them.
func (s *DryRunnableStorage) keepsEncoded() bool {
	_, ok := s.Storage.(store.EncodedStorage)
	return ok
}

// listsItems says whether the storage lists item by item.
func (s *DryRunnableStorage) listsItems() bool {
	_, ok := s.Storage.(store.ListReader)
	return ok
}

// Get reads one object into objPtr. If that is nil, it returns the object encoded.
func (s *DryRunnableStorage) Get(ctx context.Context, key string, opts store.GetOptions, objPtr runtime.Object) (obj *object.Encoded,
	err error) {
	ctx, step := trace.Start(ctx, steps.DryRunGet, key)
	defer step.End(&err)
	if objPtr == nil {
		return s.Storage.(store.EncodedStorage).GetEncoded(ctx, key, opts)
	}
	return nil, s.Storage.Get(ctx, key, opts, objPtr)
}

// GetList reads a list into listObj. If that is nil, it returns the list encoded.
func (s *DryRunnableStorage) GetList(ctx context.Context, key string, opts store.ListOptions,
	listObj runtime.Object) (list *store.EncodedList, err error) {
	ctx, step := trace.Start(ctx, steps.DryRunList, key)
	defer step.End(&err)
	if listObj == nil {
		return s.Storage.(store.ListReader).ListEncoded(ctx, key, opts)
	}
	return nil, s.Storage.GetList(ctx, key, opts, listObj)
}

// Watch starts a watch, of encoded objects if that is wanted.
func (s *DryRunnableStorage) Watch(ctx context.Context, key string, opts store.ListOptions, encoded bool) (w watch.Interface, err error) {
	ctx, step := trace.Start(ctx, steps.DryRunWatch, key)
	defer step.End(&err)
	if encoded {
		return s.Storage.(store.EncodedStorage).WatchEncoded(ctx, key, opts)
	}
	return s.Storage.Watch(ctx, key, opts)
}

var (
	notDryRun     = trace.Because("not-dry-run", "not a dry run: passed on", "不是试运行，直接转交")
	dryRunCreates = trace.Because("dry-run-creates",
		"dry run: look whether the key is free, write nothing",
		"试运行：只检查键是否空闲，不写入")
)

// Create stores obj, and decodes the stored bytes into out. If out is nil, which a dry run does not support, it
// returns the object encoded. A dry run only checks whether the key is free.
func (s *DryRunnableStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64,
	dryRun bool) (stored *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, steps.DryRunCreate, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(notDryRun)
		if out == nil {
			return s.Storage.(store.EncodedStorage).CreateEncoded(ctx, key, obj, ttl)
		}
		return nil, s.Storage.Create(ctx, key, obj, out, ttl)
	}
	step.Why(dryRunCreates)
	switch err := s.Storage.Get(ctx, key, store.GetOptions{}, out); {
	case err == nil, store.IsCorruptObject(err):
		return nil, store.NewKeyExistsError(key, 0)
	case !store.IsNotFound(err):
		return nil, err
	}
	return nil, s.copyInto(obj, out)
}

var dryRunDeletes = trace.Because("dry-run-deletes",
	"dry run: read and check the object, remove nothing",
	"试运行：读取并检查对象，不删除")

// Delete removes an object. A dry run only reads and checks it.
func (s *DryRunnableStorage) Delete(ctx context.Context, key string, out runtime.Object, deleteValidation store.ValidateObjectFunc,
	dryRun bool, opts store.DeleteOptions) (err error) {
	ctx, step := trace.Start(ctx, steps.DryRunDelete, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(notDryRun)
		return s.Storage.Delete(ctx, key, out, deleteValidation, opts)
	}
	step.Why(dryRunDeletes)
	if err := s.Storage.Get(ctx, key, store.GetOptions{}, out); err != nil {
		return err
	}
	if err := opts.Preconditions.Check(key, out); err != nil {
		return err
	}
	return deleteValidation(ctx, out)
}

var dryRunUpdates = trace.Because("dry-run-updates",
	"dry run: try the update once on the stored object, write nothing",
	"试运行：在已存储的对象上试更新一次，不写入")

// GuaranteedUpdate changes an object, and decodes the stored bytes into destination. If destination is nil, which a
// dry run does not support, it returns the object encoded. A dry run calls tryUpdate once, on the present state.
func (s *DryRunnableStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object,
	tryUpdate store.UpdateFunc, dryRun bool, opts store.UpdateOptions) (stored *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, steps.DryRunUpdate, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(notDryRun)
		if destination == nil {
			return s.Storage.(store.EncodedStorage).UpdateEncoded(ctx, key, tryUpdate, opts)
		}
		return nil, s.Storage.GuaranteedUpdate(ctx, key, destination, tryUpdate, opts)
	}
	step.Why(dryRunUpdates)
	current, err := newLike(destination)
	if err != nil {
		return nil, err
	}
	if err := s.Storage.Get(ctx, key, store.GetOptions{IgnoreNotFound: opts.IgnoreNotFound}, current); err != nil {
		return nil, err
	}
	if err := opts.Preconditions.Check(key, current); err != nil {
		return nil, err
	}
	revision, err := s.Versioner().ObjectResourceVersion(current)
	if err != nil {
		return nil, err
	}
	updated, _, err := tryUpdate(current, store.ResponseMeta{ResourceVersion: revision})
	if err != nil {
		return nil, err
	}
	return nil, s.copyInto(updated, destination)
}

// newLike makes an empty object of obj's type.
func newLike(obj runtime.Object) (runtime.Object, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.NewEmptyInstance(), nil
	}
	v, err := conversion.EnforcePtr(obj)
	if err != nil {
		return nil, fmt.Errorf("unable to convert output object to pointer: %v", err)
	}
	return reflect.New(v.Type()).Interface().(runtime.Object), nil
}

// copyInto fills out as if in had been stored and read back.
func (s *DryRunnableStorage) copyInto(in, out runtime.Object) error {
	data, err := runtime.Encode(s.Codec, in)
	if err != nil {
		return err
	}
	_, _, err = s.Codec.Decode(data, nil, out)
	return err
}
