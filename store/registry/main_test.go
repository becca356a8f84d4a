package registry

import (
	"context"
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

var (
	testScheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := corev1.AddToScheme(s); err != nil {
			panic(err)
		}
		return s
	}()
	testCodec = serializer.NewCodecFactory(testScheme).LegacyCodec(corev1.SchemeGroupVersion)
	pods      = schema.GroupResource{Resource: "pods"}
)

// inNamespace is the context of a request for pods of one namespace, or of all if ns is "".
func inNamespace(t *testing.T, ns string) context.Context {
	t.Helper()
	ctx := request.WithNamespace(t.Context(), ns)
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Resource: "pods", Namespace: ns})
}

// events is the order in which things happened.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(event string) {
	e.mu.Lock()
	e.list = append(e.list, event)
	e.mu.Unlock()
}

func (e *events) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// strategy is a resource's whole strategy, by its fields.
type strategy struct {
	runtime.ObjectTyper
	rest.NameGenerator
	clusterScoped, createOnUpdate, conditionalOnly bool
	gc                                             rest.GarbageCollectionPolicy
	happened                                       *events
}

func newStrategy() *strategy {
	return &strategy{ObjectTyper: testScheme, NameGenerator: rest.SimpleNameGenerator, happened: &events{}}
}

func (s *strategy) NamespaceScoped() bool          { return !s.clusterScoped }
func (s *strategy) AllowCreateOnUpdate() bool      { return s.createOnUpdate }
func (s *strategy) AllowUnconditionalUpdate() bool { return !s.conditionalOnly }

func (s *strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	s.happened.add("PrepareForCreate")
	obj.(*corev1.Pod).Status = corev1.PodStatus{}
	obj.(*corev1.Pod).Generation = 1
}

func (s *strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	s.happened.add("Validate")
	return badHostname(obj)
}

func (s *strategy) WarningsOnCreate(context.Context, runtime.Object) []string {
	s.happened.add("WarningsOnCreate")
	return nil
}

func (s *strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	s.happened.add("PrepareForUpdate")
	if obj.(*corev1.Pod).Spec.NodeName != old.(*corev1.Pod).Spec.NodeName {
		obj.(*corev1.Pod).Generation = old.(*corev1.Pod).Generation + 1
	}
}

func (s *strategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	s.happened.add("ValidateUpdate")
	return badHostname(obj)
}

func (s *strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	s.happened.add("WarningsOnUpdate")
	return nil
}

func (s *strategy) Canonicalize(runtime.Object) { s.happened.add("Canonicalize") }

func (s *strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.gc == "" {
		return rest.DeleteDependents
	}
	return s.gc
}

func badHostname(obj runtime.Object) field.ErrorList {
	if obj.(*corev1.Pod).Spec.Hostname == "bad" {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "hostname"), "bad", "is bad")}
	}
	return nil
}

// gracefulStrategy gives every pod on a node 30 seconds, or what the client says.
type gracefulStrategy struct{ *strategy }

func (s gracefulStrategy) CheckGracefulDelete(_ context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	if options.GracePeriodSeconds == nil {
		seconds := int64(30)
		options.GracePeriodSeconds = &seconds
	}
	if obj.(*corev1.Pod).Spec.NodeName == "" {
		var zero int64
		options.GracePeriodSeconds = &zero
	}
	return true
}

// newStore is a store of pods on etcd, with a prefix of its own.
func newStore(t *testing.T, s *strategy, change ...func(*Store)) *Store {
	t.Helper()
	return newStoreWith(t, s, restOptions(t), change...)
}

func newStoreWith(t *testing.T, s *strategy, options backend.RESTOptions, change ...func(*Store)) *Store {
	t.Helper()
	e := &Store{
		NewFunc:                   func() runtime.Object { return &corev1.Pod{} },
		NewListFunc:               func() runtime.Object { return &corev1.PodList{} },
		DefaultQualifiedResource:  pods,
		SingularQualifiedResource: schema.GroupResource{Resource: "pod"},
		CreateStrategy:            s, UpdateStrategy: s, DeleteStrategy: s,
		TableConvertor: rest.NewDefaultTableConvertor(pods),
		AttrFunc:       podAttrs,
	}
	for _, f := range change {
		f(e)
	}
	if err := e.CompleteWithOptions(&StoreOptions{RESTOptions: options}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Destroy)
	return e
}

func restOptions(t *testing.T) backend.RESTOptions {
	config := factory.NewDefaultConfig(embedtest.Prefix(), testCodec)
	config.Transport.InProcess = embedtest.Shared(t)
	config.CompactionInterval = 0
	config.EncodeVersioner = corev1.SchemeGroupVersion
	return backend.RESTOptions{
		StorageConfig:           config.ForResource(pods),
		Decorator:               backend.UndecoratedStorage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 3,
		ResourcePrefix:          "pods",
	}
}

func graceful(e *Store) { e.DeleteStrategy = gracefulStrategy{e.DeleteStrategy.(*strategy)} }

func podAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	p := obj.(*corev1.Pod)
	return p.Labels, fields.Set{
		"metadata.name": p.Name, "metadata.namespace": p.Namespace, "spec.nodeName": p.Spec.NodeName,
	}, nil
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, f := range change {
		f(p)
	}
	return p
}

func finalizers(f ...string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Finalizers = f } }

func onNode(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func mustCreate(t *testing.T, ctx context.Context, e *Store, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	out, err := e.Create(ctx, p.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ownPod(t, out)
}

// ownPod decodes the answer of a write.
func ownPod(t *testing.T, obj runtime.Object) *corev1.Pod {
	t.Helper()
	own, err := object.Own(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	return own.(*corev1.Pod)
}

func mustGet(t *testing.T, ctx context.Context, e *Store, name string) *corev1.Pod {
	t.Helper()
	out, err := e.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out.(*corev1.Pod)
}

// put is a PUT of p.
func put(ctx context.Context, e *Store, p *corev1.Pod) (*corev1.Pod, bool, error) {
	return putWith(ctx, e, p, &metav1.UpdateOptions{})
}

func putWith(ctx context.Context, e *Store, p *corev1.Pod, options *metav1.UpdateOptions) (*corev1.Pod, bool, error) {
	out, created, err := e.Update(ctx, p.Name, rest.DefaultUpdatedObjectInfo(p), rest.UpdateAdmission{}, options)
	if err != nil {
		return nil, created, err
	}
	own, err := object.Own(ctx, out)
	if err != nil {
		return nil, created, err
	}
	return own.(*corev1.Pod), created, nil
}

func mustPut(t *testing.T, ctx context.Context, e *Store, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	out, _, err := put(ctx, e, p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func del(ctx context.Context, e *Store, name string, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return e.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
}

// wantStatus checks the Status that an error carries.
func wantStatus(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) *metav1.Status {
	t.Helper()
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		t.Fatalf("want %d %s %q, got %T: %v", code, reason, message, err, err)
	}
	s := api.Status()
	if s.Code != code || s.Reason != reason || s.Message != message {
		t.Errorf("got  %d %s %q\nwant %d %s %q", s.Code, s.Reason, s.Message, code, reason, message)
	}
	return &s
}

func wantGone(t *testing.T, ctx context.Context, e *Store, name string) {
	t.Helper()
	if _, err := e.Get(ctx, name, &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s should be gone, got error %v", name, err)
	}
}

func p[T any](v T) *T { return &v }
