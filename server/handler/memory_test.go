package handler_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/metrics"
)

// memory keeps the objects of one namespaced resource, and sends its changes. It is to a real storage what a test needs:
// it can change an object between a read and a write, and says when its watches were stopped.
type memory struct {
	newObj, newList func() runtime.Object
	builtin.Table

	mu      sync.Mutex
	rv      int
	objects map[string]runtime.Object
	history []watch.Event
	watches map[*memoryWatch]bool
	// between, if set, runs once between reading an object and writing it.
	between func()
	// stopped gets a value for each watch that ends.
	stopped chan struct{}
}

func newMemory(newObj, newList func() runtime.Object) *memory {
	return &memory{
		newObj: newObj, newList: newList, objects: map[string]runtime.Object{},
		watches: map[*memoryWatch]bool{}, stopped: make(chan struct{}, 100),
		Table: *builtin.NewTable([]builtin.Column{{Name: "Name", Type: "string"}}, func(obj runtime.Object) metav1.TableRow {
			m, err := meta.Accessor(obj)
			if err != nil {
				panic(err)
			}
			return builtin.Row(m.GetName())
		}),
	}
}

func (m *memory) New() runtime.Object     { return m.newObj() }
func (m *memory) NewList() runtime.Object { return m.newList() }
func (m *memory) Destroy()                {}

func memoryKey(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// put stores a copy of obj at the next revision, and returns it.
func (m *memory) put(obj runtime.Object) runtime.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.putLocked(obj)
}

func (m *memory) putLocked(obj runtime.Object) runtime.Object {
	obj = obj.DeepCopyObject()
	event := watch.Event{Type: watch.Added, Object: obj}
	if m.objects[memoryKey(obj)] != nil {
		event.Type = watch.Modified
	}
	m.objects[memoryKey(obj)] = obj
	m.send(event)
	return obj.DeepCopyObject()
}

func (m *memory) remove(obj runtime.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, memoryKey(obj))
	m.send(watch.Event{Type: watch.Deleted, Object: obj.DeepCopyObject()})
}

// send gives event the next revision and sends it to all watches.
func (m *memory) send(event watch.Event) {
	m.rv++
	if accessor, err := meta.Accessor(event.Object); err == nil {
		accessor.SetResourceVersion(strconv.Itoa(m.rv))
		if accessor.GetUID() == "" {
			accessor.SetUID(types.UID("uid-" + accessor.GetName()))
		}
	}
	m.history = append(m.history, event)
	for w := range m.watches {
		w.ch <- watch.Event{Type: event.Type, Object: event.Object.DeepCopyObject()}
	}
}

// emit sends any event to the watches there are.
func (m *memory) emit(events ...watch.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watches {
		for _, event := range events {
			w.ch <- event
		}
	}
}

func (m *memory) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	obj := m.objects[request.NamespaceValue(ctx)+"/"+name]
	if obj == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, name)
	}
	return obj.DeepCopyObject(), nil
}

func (m *memory) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.newList()
	var items []runtime.Object
	for _, obj := range m.objects {
		items = append(items, obj.DeepCopyObject())
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.Itoa(m.rv))
	return list, nil
}

// Update does what storage does: ask for the next state, and again if the object has changed meanwhile.
func (m *memory) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	key := request.NamespaceValue(ctx) + "/" + name
	for {
		m.mu.Lock()
		current := m.objects[key]
		m.mu.Unlock()
		old := m.newObj()
		if current != nil {
			old = current.DeepCopyObject()
		}
		next, err := info.UpdatedObject(ctx, old)
		if err != nil {
			return nil, false, err
		}
		if m.between != nil {
			between := m.between
			m.between = nil
			between()
		}
		accessor, err := meta.Accessor(next)
		if err != nil {
			return nil, false, err
		}
		oldMeta, err := meta.Accessor(old)
		if err != nil {
			return nil, false, err
		}
		if rv := accessor.GetResourceVersion(); rv != "" && rv != oldMeta.GetResourceVersion() {
			return nil, false, apierrors.NewConflict(schema.GroupResource{Resource: "things"}, name, errModified)
		}
		if err := admit.Update(ctx, next, old); err != nil {
			return nil, false, err
		}
		m.mu.Lock()
		if m.objects[key] != current {
			m.mu.Unlock()
			continue
		}
		if len(options.DryRun) == 0 {
			next = m.putLocked(next)
		}
		m.mu.Unlock()
		return next, false, nil
	}
}

type modifiedError struct{}

func (modifiedError) Error() string { return "the object has been modified" }

var errModified = modifiedError{}

func (m *memory) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &memoryWatch{m: m, ch: make(chan watch.Event, 10000)}
	from, err := strconv.Atoi("0" + options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	for i, event := range m.history {
		if i+1 > from {
			w.ch <- watch.Event{Type: event.Type, Object: event.Object.DeepCopyObject()}
		}
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents && options.AllowWatchBookmarks {
		w.ch <- bookmark(m.newObj(), m.rv)
	}
	m.watches[w] = true
	return w, nil
}

func bookmark(obj runtime.Object, rv int) watch.Event {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	accessor.SetResourceVersion(strconv.Itoa(rv))
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return watch.Event{Type: watch.Bookmark, Object: obj}
}

type memoryWatch struct {
	m    *memory
	ch   chan watch.Event
	once sync.Once
}

func (w *memoryWatch) ResultChan() <-chan watch.Event { return w.ch }

func (w *memoryWatch) Stop() {
	w.once.Do(func() {
		w.m.mu.Lock()
		delete(w.m.watches, w)
		w.m.mu.Unlock()
		w.m.stopped <- struct{}{}
	})
}

// end ends all watches from the storage's side.
func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watches {
		close(w.ch)
		delete(m.watches, w)
	}
}

// front serves one resource as the chain and the installer would.
type front struct {
	*httptest.Server
	scope      *handler.RequestScope
	patchTypes []string
	recorder   *trace.Recorder
	shutdown   chan struct{}
	minTimeout time.Duration
}

// warnings sends warnings as the chain does, with nothing but their text.
type warnings struct{ http.ResponseWriter }

func (w warnings) AddWarning(_, text string) { w.Header().Add("Warning", text) }

func (f *front) ShuttingDown() <-chan struct{} { return f.shutdown }

type store interface {
	rest.Lister
	rest.Watcher
	rest.Patcher
}

func newConfigMaps() *memory {
	return newMemory(func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} })
}

func newFront(t testing.TB, storage store, resource, kind string) *front {
	gv := schema.GroupVersion{Version: "v1"}
	f := &front{
		scope: &handler.RequestScope{
			Namer: handler.ContextBasedNaming{}, Serializer: scheme.Codecs,
			Creater: scheme.Scheme, Convertor: scheme.Scheme, Defaulter: scheme.Scheme, Typer: scheme.Scheme,
			UnsafeConvertor: runtime.UnsafeObjectConvertor(scheme.Scheme), TableConvertor: storage,
			Resource: gv.WithResource(resource), Kind: gv.WithKind(kind), HubGroupVersion: gv, MetaGroupVersion: metav1.SchemeGroupVersion,
			MaxRequestBodyBytes: 3 << 20, Metrics: metrics.New(),
		},
		patchTypes: handler.PatchTypes(true),
		recorder:   trace.NewRecorder("test", trace.DefaultLimits),
		shutdown:   make(chan struct{}),
		minTimeout: time.Hour,
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, journey := f.recorder.Begin(req.Context(), trace.Request{Method: req.Method, URI: req.RequestURI})
		defer journey.Finish(trace.Response{})
		journey.SetLevel(trace.Objects)
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx = request.WithServerShutdownSignal(request.WithRequestInfo(ctx, info), f)
		ctx = warning.WithWarningRecorder(ctx, warnings{w})
		req = req.WithContext(ctx)
		switch info.Verb {
		case "patch":
			handler.PatchResource(storage, f.scope, f.patchTypes)(w, req)
		case "list", "watch":
			old := strings.HasPrefix(req.URL.Path, "/api/v1/watch/")
			handler.ListResource(storage, storage, f.scope, old, f.minTimeout)(w, req)
		case "get":
			handler.GetResource(storage, f.scope)(w, req)
		default:
			http.Error(w, info.Verb, http.StatusMethodNotAllowed)
		}
	}))
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	for i := 0; i+1 < len(data); i += 2 {
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}
