package kxapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
	builtin "github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/cacher"
)

// checks is the subresource check of caches. It is a get, because a comparison changes nothing.
func (c *caches) checks() *anyResource {
	return declare(resource[*v1alpha1.CacheCheck]{plural: cachesPlural, get: c.check})
}

// objects is the subresource object of caches: ?namespace= and ?name= select the object.
func (c *caches) objects() *anyResource {
	return declare(resource[*v1alpha1.CachedObject]{plural: cachesPlural, query: readObjectQuery, get: c.object})
}

// check reads all objects of a resource in etcd and compares them with those of the cache at the same revision.
func (c *caches) check(ctx context.Context, name string) (*v1alpha1.CacheCheck, error) {
	cache, err := c.find(name)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	found, err := cache.CheckConsistency(ctx)
	if errors.Is(err, cacher.ErrNotFresh) {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	check := &v1alpha1.CacheCheck{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1alpha1.CacheCheckStatus{
			Revision: found.Revision, Items: int64(found.Items), TookMicros: time.Since(start).Microseconds(),
			Consistent: len(found.Differences) == 0, Cut: int64(found.Cut),
		},
	}
	for _, d := range found.Differences {
		check.Status.Differences = append(check.Status.Differences, v1alpha1.CacheDifference{
			Key: d.Key, CachedRevision: d.Cached, EtcdRevision: d.Etcd, Message: d.String(),
		})
	}
	return check, nil
}

type objectKey struct{}

// readObjectQuery reads the query parameters that select the object.
func readObjectQuery(ctx context.Context, query url.Values) (context.Context, error) {
	meta := metav1.ObjectMeta{Namespace: query.Get("namespace"), Name: query.Get("name")}
	if meta.Name == "" {
		return ctx, apierrors.NewBadRequest(
			"the query must say which object: ?namespace=...&name=..., or ?name=... if it is in no namespace")
	}
	for _, part := range []string{meta.Namespace, meta.Name} {
		if problems := content.IsPathSegmentName(part); len(problems) > 0 {
			return ctx, apierrors.NewBadRequest(fmt.Sprintf("no object is called %q: %s", part, strings.Join(problems, ", ")))
		}
	}
	return context.WithValue(ctx, objectKey{}, meta), nil
}

// object returns an object's states in the cache and in etcd.
func (c *caches) object(ctx context.Context, name string) (*v1alpha1.CachedObject, error) {
	cache, err := c.find(name)
	if err != nil {
		return nil, err
	}
	meta, _ := ctx.Value(objectKey{}).(metav1.ObjectMeta)
	b, err := cache.ReadBeside(ctx, meta.Namespace, meta.Name)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if b.Cached == nil && b.Stored == nil {
		return nil, apierrors.NewNotFound(cache.Resource(), meta.Name)
	}
	return &v1alpha1.CachedObject{
		ObjectMeta: meta,
		Status: v1alpha1.CachedObjectStatus{
			Key: b.Key, Revision: b.Seen, Difference: b.Difference(),
			Cached: stateOf(cache.Resource(), b.Cached), Etcd: stateOf(cache.Resource(), b.Stored),
		},
	}, nil
}

// secrets is the resource whose objects are masked: a user who may read caches may not be allowed to read Secrets.
var secrets = corev1.Resource("secrets")

// stateOf returns one state of an object for clients, nil if it does not exist.
func stateOf(resource schema.GroupResource, e *object.Encoded) *v1alpha1.ObjectState {
	if e == nil {
		return nil
	}
	state := &v1alpha1.ObjectState{Revision: e.Revision(), Bytes: int64(e.StoredSize())}
	data, err := jsonOf(e, resource == secrets)
	if err != nil {
		state.Error = errorText(err, resource == secrets)
		return state
	}
	state.Object = &runtime.RawExtension{Raw: data}
	return state
}

// jsonOf encodes an object as JSON in its storage version, masked if it is a Secret.
func jsonOf(e *object.Encoded, secret bool) ([]byte, error) {
	if data, _, ok := e.JSON(); ok && !secret {
		return mask.JSON(bytes.TrimSpace(data), false)
	}
	obj, err := e.Object()
	if err != nil {
		return nil, err
	}
	// A decoded Go type lacks its kind. The object is shared, so a copy gets the kind back.
	if kinds, _, err := builtin.Scheme.ObjectKinds(obj); err == nil {
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	return mask.Object(obj, secret), nil
}
