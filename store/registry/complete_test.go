package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
)

func TestCompleteSaysWhatIsMissing(t *testing.T) {
	err := (&Store{}).CompleteWithOptions(&StoreOptions{RESTOptions: restOptions(t)})
	if err == nil {
		t.Fatal("an empty store is complete")
	}
	for _, want := range []string{"DefaultQualifiedResource", "SingularQualifiedResource", "NewFunc", "NewListFunc",
		"TableConvertor", "CreateStrategy", "DeleteStrategy"} {
		if !strings.Contains(err.Error(), want+" ") && !strings.Contains(err.Error(), want+";") {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
	s := newStrategy()
	whole := func() *Store {
		return &Store{
			NewFunc: func() runtime.Object { return &corev1.Pod{} }, NewListFunc: func() runtime.Object { return &corev1.PodList{} },
			DefaultQualifiedResource: pods, SingularQualifiedResource: schema.GroupResource{Resource: "pod"},
			CreateStrategy: s, DeleteStrategy: s, TableConvertor: rest.NewDefaultTableConvertor(pods),
		}
	}
	tests := []struct {
		name    string
		change  func(*Store, *StoreOptions)
		message string
	}{
		{"two groups", func(e *Store, _ *StoreOptions) { e.SingularQualifiedResource.Group = "g" },
			`complete the store of "pods": DefaultQualifiedResource and SingularQualifiedResource must be of one group`},
		{"no options", func(_ *Store, o *StoreOptions) { o.RESTOptions = nil }, `complete the store of pods: options must have RESTOptions set`},
		{"no prefix", func(_ *Store, o *StoreOptions) { o.RESTOptions = backend.RESTOptions{} }, `store for pods has an invalid prefix ""`},
		{"no storage", func(_ *Store, o *StoreOptions) {
			options := restOptions(t)
			options.StorageConfig.Type = "etcd2"
			o.RESTOptions = options
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, options := whole(), &StoreOptions{RESTOptions: restOptions(t)}
			tt.change(e, options)
			err := e.CompleteWithOptions(options)
			if err == nil || (tt.message != "" && err.Error() != tt.message) {
				t.Errorf("got  %v\nwant %s", err, tt.message)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	in := func(ns string) context.Context { return request.WithNamespace(request.NewContext(), ns) }
	tests := []struct {
		name    string
		key     func() (string, error)
		want    string
		message string
	}{
		{"root", func() (string, error) { return NamespaceKeyRootFunc(in("ns"), "/pods"), nil }, "/pods/ns", ""},
		{"root of all", func() (string, error) { return NamespaceKeyRootFunc(in(""), "/pods"), nil }, "/pods", ""},
		{"root of no request", func() (string, error) { return NamespaceKeyRootFunc(request.NewContext(), "/pods"), nil }, "/pods", ""},
		{"object", func() (string, error) { return NamespaceKeyFunc(in("ns"), "/pods", "a") }, "/pods/ns/a", ""},
		{"no namespace", func() (string, error) { return NamespaceKeyFunc(in(""), "/pods", "a") }, "", "Namespace parameter required."},
		{"no name", func() (string, error) { return NamespaceKeyFunc(in("ns"), "/pods", "") }, "", "Name parameter required."},
		{"slash", func() (string, error) { return NamespaceKeyFunc(in("ns"), "/pods", "a/b") }, "", `Name parameter invalid: "a/b": may not contain '/'`},
		{"dots", func() (string, error) { return NoNamespaceKeyFunc(in(""), "/nodes", "..") }, "", `Name parameter invalid: "..": may not be '..'`},
		{"percent", func() (string, error) { return NoNamespaceKeyFunc(in(""), "/nodes", "%") }, "", `Name parameter invalid: "%": may not contain '%'`},
		{"cluster", func() (string, error) { return NoNamespaceKeyFunc(in("ns"), "/nodes", "a") }, "/nodes/a", ""},
		{"cluster, no name", func() (string, error) { return NoNamespaceKeyFunc(in(""), "/nodes", "") }, "", "Name parameter required."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, err := tt.key()
			if key != tt.want || (err == nil) != (tt.message == "") {
				t.Errorf("got %q, %v", key, err)
			}
			if err != nil {
				wantStatus(t, err, 400, metav1.StatusReasonBadRequest, tt.message)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	for _, clusterScoped := range []bool{false, true} {
		s := newStrategy()
		s.clusterScoped = clusterScoped
		e := newStoreWith(t, s, restOptions(t))
		if e.NamespaceScoped() == clusterScoped || e.GetSingularName() != "pod" || e.StorageVersion() != runtime.GroupVersioner(corev1.SchemeGroupVersion) {
			t.Error(e.NamespaceScoped(), e.GetSingularName(), e.StorageVersion())
		}
		if err := e.ReadinessCheck(); err != nil {
			t.Error(err)
		}
	}
}

// counted returns the values of a metric of counted objects, for all its labels.
func counted(t *testing.T, registry prometheus.Gatherer, name string) (values []float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				values = append(values, m.GetGauge().GetValue())
			}
		}
	}
	return values
}

func TestObjectsAreCounted(t *testing.T) {
	options := restOptions(t)
	options.CountMetricPollPeriod = 10 * time.Millisecond
	registry := prometheus.NewPedanticRegistry()
	options.StorageConfig.Shared = factory.NewPool(registry, nil)
	e, ctx := newStoreWith(t, newStrategy(), options), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	mustCreate(t, ctx, e, pod("b"))
	for !slices.Equal(counted(t, registry, "apiserver_storage_objects"), []float64{2}) {
		time.Sleep(time.Millisecond) // until they are counted again
	}
	e.Destroy()
	e.Destroy()
	if left := counted(t, registry, "apiserver_storage_objects"); left != nil {
		t.Errorf("counts are left after the end: %v", left)
	}
}

func TestTable(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	list, err := e.List(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, obj := range map[string]runtime.Object{"list": list, "object": created} {
		table, err := e.ConvertToTable(ctx, obj, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if len(table.Rows) != 1 || table.Rows[0].Cells[0] != "a" || table.Rows[0].Cells[1] != created.CreationTimestamp.UTC().Format(time.RFC3339) ||
			len(table.ColumnDefinitions) != 2 || table.ColumnDefinitions[1].Name != "Created At" || table.ResourceVersion == "" {
			t.Errorf("%s: got %+v", name, table)
		}
		if table, err = e.ConvertToTable(ctx, obj, &metav1.TableOptions{NoHeaders: true}); err != nil || table.ColumnDefinitions != nil {
			t.Errorf("%s without headers: %+v, %v", name, table, err)
		}
	}
	_, err = e.ConvertToTable(ctx, &metav1.Status{}, nil)
	wantStatus(t, err, 406, metav1.StatusReasonNotAcceptable, "the resource pods does not support being converted to a Table")
}

// The storage's errors, as clients get them.
func TestInterpretErrors(t *testing.T) {
	const key = "/pods/ns/a"
	internal, corrupt := store.NewInternalError(errors.New("broke")), store.NewCorruptObjError(key, errors.New("garbled"))
	own := apierrors.NewForbidden(pods, "a", errors.New("no"))
	missing, exists, unreachable := store.NewKeyNotFoundError(key, 0), store.NewKeyExistsError(key, 0), &store.StorageError{Code: store.ErrCodeUnreachable, Key: key}
	conflict := &store.StorageError{Code: store.ErrCodeResourceVersionConflicts, Key: key, ResourceVersion: 5}
	invalid, timeout := store.NewInvalidObjError(key, "x"), store.NewTimeoutError(key, "slow")
	get := func(err error) error { return InterpretGetError(t.Context(), err, pods, "a") }
	list := func(err error) error { return InterpretListError(t.Context(), err, pods) }
	create := func(err error) error { return InterpretCreateError(t.Context(), err, pods, "a") }
	update := func(err error) error { return InterpretUpdateError(t.Context(), err, pods, "a") }
	remove := func(err error) error { return InterpretDeleteError(t.Context(), err, pods, "a") }
	retry := func(verb string) string {
		return "The " + verb + " operation against pods could not be completed at this time, please try again."
	}
	tests := []struct {
		name    string
		err     error
		code    int32
		reason  metav1.StatusReason
		message string
	}{
		{"get missing", get(missing), 404, metav1.StatusReasonNotFound, `pods "a" not found`},
		{"get unreachable", get(unreachable), 500, metav1.StatusReasonServerTimeout, retry("get")},
		{"get internal", get(internal), 500, metav1.StatusReasonInternalError, "Internal error occurred: broke"},
		{"get corrupt", get(corrupt), 500, metav1.StatusReasonInternalError, "Internal error occurred: " + corrupt.Error()},
		{"get own", get(own), 403, metav1.StatusReasonForbidden, own.Error()},
		{"list missing", list(missing), 404, metav1.StatusReasonNotFound, `pods "" not found`},
		{"list unreachable", list(unreachable), 500, metav1.StatusReasonServerTimeout, retry("list")},
		{"list timeout", list(timeout), 500, metav1.StatusReasonServerTimeout, retry("list")},
		{"create exists", create(exists), 409, metav1.StatusReasonAlreadyExists, `pods "a" already exists`},
		{"create unreachable", create(unreachable), 500, metav1.StatusReasonServerTimeout, retry("create")},
		{"create corrupt", create(corrupt), 500, metav1.StatusReasonInternalError, "Internal error occurred: " + corrupt.Error()},
		{"update missing", update(missing), 404, metav1.StatusReasonNotFound, `pods "a" not found`},
		{"update conflict", update(conflict), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods "a": ` + conflict.Error()},
		{"update exists", update(exists), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods "a": ` + exists.Error()},
		{"update invalid", update(invalid), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods "a": ` + invalid.Error()},
		{"update unreachable", update(unreachable), 500, metav1.StatusReasonServerTimeout, retry("update")},
		{"delete missing", remove(missing), 404, metav1.StatusReasonNotFound, `pods "a" not found`},
		{"delete conflict", remove(conflict), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods "a": ` + conflict.Error()},
		{"delete unreachable", remove(unreachable), 500, metav1.StatusReasonServerTimeout, retry("delete")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wantStatus(t, tt.err, tt.code, tt.reason, tt.message)
			if tt.reason == metav1.StatusReasonServerTimeout && s.Details.RetryAfterSeconds != 2 {
				t.Errorf("retry after %d s", s.Details.RetryAfterSeconds)
			}
		})
	}
	for name, err := range map[string]error{"get": get(timeout), "create": create(missing), "update": update(timeout)} {
		if err != error(timeout) && err != error(missing) {
			t.Errorf("%s: an error without an interpretation was changed: %v", name, err)
		}
	}
}

func TestErrorsNameTheRequestsResource(t *testing.T) {
	e := newStore(t, newStrategy())
	ctx := request.WithNamespace(t.Context(), "ns")
	_, err := e.Get(ctx, "a", &metav1.GetOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `pods "a" not found`)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: "g", Resource: "things"})
	_, err = e.Get(ctx, "a", &metav1.GetOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `things.g "a" not found`)
}
