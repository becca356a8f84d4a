package registry

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
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
	_, step := trace.Start(ctx, trace.StoreKey, name)
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

// objectKey is the key of an object, for layers that have an object and no request.
func (e *Store) objectKey(obj runtime.Object) (string, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", err
	}
	return e.keyOf(request.WithNamespace(request.NewContext(), m.GetNamespace()), m.GetName())
}
