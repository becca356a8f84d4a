//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// fieldManager is the owner of applied fields.
const fieldManager = "torture"

// register does what a client can do with objects of one kind, in one way, on one server.
type register interface {
	of() kind
	// get reads the latest state without a resourceVersion.
	get(ctx context.Context, ns, name, version string) (runtime.Object, error)
	create(ctx context.Context, ns, name, value string) (runtime.Object, error)
	// update demands a resourceVersion unless it is empty.
	update(ctx context.Context, ns, name, value, version string) (runtime.Object, error)
	patch(ctx context.Context, ns, name, value string) (runtime.Object, error)
	apply(ctx context.Context, ns, name, value string) (runtime.Object, error)
	remove(ctx context.Context, ns, name, version string) error
	list(ctx context.Context, ns string, options metav1.ListOptions) (runtime.Object, error)
	watch(ctx context.Context, ns string, options metav1.ListOptions) (watch.Interface, error)
}

// dynamicRegister asks by client-go's dynamic client, in JSON.
type dynamicRegister struct {
	kind
	client dynamic.Interface
}

func (r dynamicRegister) of() kind { return r.kind }

func (r dynamicRegister) in(ns string) dynamic.ResourceInterface {
	return r.client.Resource(r.resource).Namespace(ns)
}

func (r dynamicRegister) get(ctx context.Context, ns, name, version string) (runtime.Object, error) {
	return r.in(ns).Get(ctx, name, metav1.GetOptions{ResourceVersion: version})
}

func (r dynamicRegister) create(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.in(ns).Create(ctx, r.object(ns, name, value), metav1.CreateOptions{})
}

func (r dynamicRegister) update(ctx context.Context, ns, name, value, version string) (runtime.Object, error) {
	u := r.object(ns, name, value)
	u.SetResourceVersion(version)
	return r.in(ns).Update(ctx, u, metav1.UpdateOptions{})
}

func (r dynamicRegister) patch(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.in(ns).Patch(ctx, name, types.MergePatchType, r.mergePatch(value), metav1.PatchOptions{})
}

func (r dynamicRegister) apply(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.in(ns).Apply(ctx, name, r.object(ns, name, value), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
}

func (r dynamicRegister) remove(ctx context.Context, ns, name, version string) error {
	return r.in(ns).Delete(ctx, name, deleteOptions(version))
}

func (r dynamicRegister) list(ctx context.Context, ns string, options metav1.ListOptions) (runtime.Object, error) {
	return r.in(ns).List(ctx, options)
}

func (r dynamicRegister) watch(ctx context.Context, ns string, options metav1.ListOptions) (watch.Interface, error) {
	return r.in(ns).Watch(ctx, options)
}

// mergePatch sets the value and its label.
func (k kind) mergePatch(value string) []byte {
	u := k.object("", "", value).Object
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": u["metadata"].(map[string]any)["labels"]}, k.field[0]: u[k.field[0]]})
	return patch
}

func deleteOptions(version string) metav1.DeleteOptions {
	if version == "" {
		return metav1.DeleteOptions{}
	}
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
}

// typedRegister asks for config maps by client-go's typed client, in protobuf.
type typedRegister struct{ client kubernetes.Interface }

func (r typedRegister) of() kind { return configMaps }

func typed(ns, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"color": history.Color(value)}},
		Data:       map[string]string{"v": value},
	}
}

func (r typedRegister) get(ctx context.Context, ns, name, version string) (runtime.Object, error) {
	return r.client.CoreV1().ConfigMaps(ns).Get(ctx, name, metav1.GetOptions{ResourceVersion: version})
}

func (r typedRegister) create(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.client.CoreV1().ConfigMaps(ns).Create(ctx, typed(ns, name, value), metav1.CreateOptions{})
}

func (r typedRegister) update(ctx context.Context, ns, name, value, version string) (runtime.Object, error) {
	m := typed(ns, name, value)
	m.ResourceVersion = version
	return r.client.CoreV1().ConfigMaps(ns).Update(ctx, m, metav1.UpdateOptions{})
}

func (r typedRegister) patch(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.client.CoreV1().ConfigMaps(ns).Patch(ctx, name, types.StrategicMergePatchType, configMaps.mergePatch(value), metav1.PatchOptions{})
}

func (r typedRegister) apply(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	m := applycorev1.ConfigMap(name, ns).WithLabels(map[string]string{"color": history.Color(value)}).WithData(map[string]string{"v": value})
	return r.client.CoreV1().ConfigMaps(ns).Apply(ctx, m, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
}

func (r typedRegister) remove(ctx context.Context, ns, name, version string) error {
	return r.client.CoreV1().ConfigMaps(ns).Delete(ctx, name, deleteOptions(version))
}

func (r typedRegister) list(ctx context.Context, ns string, options metav1.ListOptions) (runtime.Object, error) {
	return r.client.CoreV1().ConfigMaps(ns).List(ctx, options)
}

func (r typedRegister) watch(ctx context.Context, ns string, options metav1.ListOptions) (watch.Interface, error) {
	return r.client.CoreV1().ConfigMaps(ns).Watch(ctx, options)
}

// page is what one LIST answered.
type page struct {
	items     []history.Object
	revision  int64
	continues string
}

func readPage(k kind, list runtime.Object) (p page, err error) {
	l, err := meta.ListAccessor(list)
	if err != nil {
		return p, err
	}
	if p.revision, err = strconv.ParseInt(l.GetResourceVersion(), 10, 64); err != nil {
		return p, err
	}
	p.continues = l.GetContinue()
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		o, err := k.seen(obj)
		p.items = append(p.items, o)
		return err
	})
	return p, err
}

// outcome is what an error says of the operation that got it; known is whether a server under torture may say so.
func outcome(err error) (o history.Outcome, known bool) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return history.OK, true
	case apierrors.IsNotFound(err):
		return history.NotFound, true
	case apierrors.IsAlreadyExists(err):
		return history.Exists, true
	case apierrors.IsConflict(err):
		return history.Conflict, true
	case apierrors.IsTooManyRequests(err):
		return history.Refused, true
	case errors.As(err, &status):
		code := status.Status().Code
		if code >= 400 && code < 500 {
			// A policy refuses when nobody can say whether it is about the object: its namespace could not be read.
			unclear := strings.Contains(err.Error(), "failed to configure policy: Internal error occurred")
			return history.Refused, code == http.StatusGone || unclear
		}
		return history.Unknown, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return history.Refused, true
	}
	return history.Unknown, true
}

var _ = []register{dynamicRegister{}, typedRegister{}, rawRegister{}, socketRegister{}}

// unstructuredOf reads JSON.
func unstructuredOf(data []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON(data)
}

// statusOf is the error in the last event of a watch.
func statusOf(obj runtime.Object) error { return apierrors.FromObject(obj) }

func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
