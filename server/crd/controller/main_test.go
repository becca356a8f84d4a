package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// process is what one process does for definitions, without its HTTP server.
type process struct {
	t      testing.TB
	crds   *definition.REST
	status *definition.StatusREST
	lister *lister.Lister
	pages  http.Handler
	stop   func()
}

// start starts a process on an etcd. It ends with the test, or before, and then nothing of it is left.
func start(t testing.TB, etcd *builtintest.Etcd, objects controller.CRClientGetter) *process {
	t.Helper()
	crds, status, err := definition.NewREST(etcd)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, crds: crds, status: status, lister: lister.New(crds)}
	pages := discovery.NewManager("127.0.0.1:7443")
	pages.SetGroupVersion(builtIn, []metav1.APIResource{{Name: "builtins", Kind: "Builtin"}})
	controllers := controller.New(controller.Config{
		Lister: p.lister, Status: status, Objects: objects, Discovery: pages, Log: slog.New(slog.DiscardHandler),
	})
	p.pages = controllers.WithDiscovery(pages.WithDelegate(http.NotFoundHandler()))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.lister.Run(ctx) })
	running.Go(func() { controllers.Run(ctx) })
	p.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		crds.Destroy()
	})
	t.Cleanup(p.stop)
	if err := p.lister.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// noLeaks fails the test if it leaves goroutines behind. It is called before everything that has a Cleanup.
func noLeaks(t *testing.T) {
	t.Helper()
	embedtest.Shared(t) // is there before and after
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

// crd is a definition like many, with its names and group in place.
func crd(group, plural, singular, kind string, shortNames ...string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: singular, Kind: kind, ShortNames: shortNames},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// create does what a handler does with a definition that a client sends.
func (p *process) create(d *apiextensionsv1.CustomResourceDefinition) {
	p.t.Helper()
	d = d.DeepCopy()
	definition.Scheme.Default(d)
	in := &apiextensions.CustomResourceDefinition{}
	if err := definition.Scheme.Convert(d, in, nil); err != nil {
		p.t.Fatal(err)
	}
	_, err := p.crds.Create(builtintest.Context(p.t, ""), in, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

// edit changes the definition as it is in etcd, by its storage or that of its status.
func (p *process) edit(to rest.Updater, name string, change func(*apiextensions.CustomResourceDefinition)) {
	p.t.Helper()
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		d := old.(*apiextensions.CustomResourceDefinition).DeepCopy()
		change(d)
		return d, nil
	}
	_, _, err := to.Update(builtintest.Context(p.t, ""), name, rest.DefaultUpdatedObjectInfo(nil, next), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) remove(name string) {
	p.t.Helper()
	if _, _, err := p.crds.Delete(builtintest.Context(p.t, ""), name, rest.ValidateAllObjectFunc, nil); err != nil {
		p.t.Fatal(err)
	}
}

// until waits until the definition in etcd is as yes says; nil is one that is gone. It returns it as it then is.
func (p *process) until(name string, yes func(*apiextensionsv1.CustomResourceDefinition) bool) *apiextensionsv1.CustomResourceDefinition {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	options := &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name)}
	obj, err := p.crds.List(ctx, options)
	if err != nil {
		p.t.Fatal(err)
	}
	list := obj.(*apiextensions.CustomResourceDefinitionList)
	var d *apiextensionsv1.CustomResourceDefinition
	if len(list.Items) > 0 {
		d = p.toV1(&list.Items[0])
	}
	if yes(d) {
		return d
	}
	options.ResourceVersion = list.ResourceVersion
	w, err := p.crds.Watch(ctx, options)
	if err != nil {
		p.t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		in, ok := event.Object.(*apiextensions.CustomResourceDefinition)
		if err := apierrors.FromObject(event.Object); !ok && apierrors.IsResourceExpired(err) {
			return p.until(name, yes) // it was listed before the watch cache was filled: clients list again
		} else if !ok {
			p.t.Fatal(err)
		}
		d = p.toV1(in)
		if event.Type == watch.Deleted {
			d = nil
		}
		if yes(d) {
			return d
		}
	}
	if d != nil {
		p.t.Fatalf("in %v what was waited for did not come to pass: %s has %q", patience, name, conditions(d))
	}
	p.t.Fatalf("in %v what was waited for did not come to pass: %s is not there", patience, name)
	return nil
}

func (p *process) toV1(in *apiextensions.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	p.t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{}
	if err := definition.Scheme.Convert(in, d, nil); err != nil {
		p.t.Fatal(err)
	}
	return d
}

func isGone(d *apiextensionsv1.CustomResourceDefinition) bool { return d == nil }

func isEstablished(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d != nil && apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
}

// says is true for a definition with such a condition.
func says(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) func(*apiextensionsv1.CustomResourceDefinition) bool {
	return func(d *apiextensionsv1.CustomResourceDefinition) bool {
		if d == nil {
			return false
		}
		c := apihelpers.FindCRDCondition(d, kind)
		return c != nil && c.Status == status && c.Reason == reason && c.Message == message
	}
}

// page gets a page of discovery; nil if there is none.
func page[T any](p *process, path, accept string) *T {
	p.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	p.pages.ServeHTTP(w, r)
	if w.Code == http.StatusNotFound {
		return nil
	}
	out := new(T)
	if err := json.Unmarshal(w.Body.Bytes(), out); w.Code != http.StatusOK || err != nil {
		p.t.Fatalf("GET %s: %d, %s: %v", path, w.Code, w.Body, err)
	}
	return out
}

// noObjects finds no storage.
type noObjects struct{}

func (noObjects) GetCustomResourceListerCollectionDeleter(*apiextensionsv1.CustomResourceDefinition) (controller.ListerCollectionDeleter, error) {
	return nil, errors.New("there is no storage")
}

// storages are those of definitions and of their status, for a test that has no process.
func storages(t testing.TB, etcd *builtintest.Etcd) (*definition.REST, *definition.StatusREST) {
	t.Helper()
	crds, status, err := definition.NewREST(etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(crds.Destroy)
	return crds, status
}

// unvalidated lets everything in, as servers of other versions may have done.
type unvalidated struct{ rest.RESTCreateStrategy }

func (unvalidated) Validate(context.Context, runtime.Object) field.ErrorList { return nil }

// eventually asks until it is so.
func (p *process) eventually(what string, isSo func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !isSo(); {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s did not come in %v", what, patience)
		}
	}
}

type uncheckedUpdate struct{ rest.RESTUpdateStrategy }

func (uncheckedUpdate) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}
