package handler_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/handler"
)

// cramped has no room for managedFields.
type cramped struct {
	*memory
	writes int
}

func (c *cramped) check(obj runtime.Object) error {
	c.writes++
	if m, ok := obj.(metav1.Object); ok && m.GetManagedFields() != nil {
		return apierrors.NewRequestEntityTooLargeError("etcdserver: request is too large")
	}
	return nil
}

func (c *cramped) Create(_ context.Context, obj runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	if err := c.check(obj); err != nil {
		return nil, err
	}
	return c.put(obj), nil
}

func (c *cramped) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	checked := rest.WrapUpdatedObjectInfo(info, func(_ context.Context, obj, _ runtime.Object) (runtime.Object, error) {
		return obj, c.check(obj)
	})
	return c.memory.Update(ctx, name, checked, admit, options)
}

type allowAll struct{}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// managedScope is that of config maps whose owners are known.
func managedScope(t testing.TB) *handler.RequestScope {
	t.Helper()
	gv := schema.GroupVersion{Version: "v1"}
	scope := &handler.RequestScope{
		Namer: handler.ContextBasedNaming{}, Serializer: scheme.Codecs,
		Creater: scheme.Scheme, Convertor: scheme.Scheme, Defaulter: scheme.Scheme, Typer: scheme.Scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(scheme.Scheme), Authorizer: allowAll{},
		Resource: gv.WithResource("configmaps"), Kind: gv.WithKind("ConfigMap"), HubGroupVersion: gv, MetaGroupVersion: metav1.SchemeGroupVersion,
		MaxRequestBodyBytes: 3 << 20,
	}
	var err error
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), scope.UnsafeConvertor,
		scope.Defaulter, scope.Creater, scope.Kind, gv, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// serve sends one request to a handler of config maps, from the client that agent names.
func serve(t testing.TB, h http.HandlerFunc, method, name, contentType, body, agent string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(method, "/api/v1/namespaces/default/configmaps"+name, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", agent)
	path, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "?")
	info := &request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Namespace: "default", Resource: "configmaps", Name: path}
	ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "ann"})
	res := httptest.NewRecorder()
	h(res, req.WithContext(ctx))
	return res.Code, res.Body.String()
}

// TestTooLargeWithManagedFields writes what is too large with managedFields: all but an apply do without.
func TestTooLargeWithManagedFields(t *testing.T) {
	scope := managedScope(t)
	c := &cramped{memory: newConfigMaps()}
	create, update := handler.CreateResource(c, scope), handler.UpdateResource(c, scope)
	patch := handler.PatchResource(c, scope, handler.PatchTypes(true))
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":%q}}`
	for _, tc := range []struct {
		handler                          http.HandlerFunc
		method, name, contentType, value string
		code, writes                     int
	}{
		{create, "POST", "", "application/json", "1", 201, 2},
		{update, "PUT", "/a", "application/json", "2", 200, 1}, // nobody owns anything any more: it is not begun
		{patch, "PATCH", "/a", mergePatch, "3", 200, 1},
		{patch, "PATCH", "/a?fieldManager=x&force=true", applyPatch, "4", 413, 1},
	} {
		c.writes = 0
		code, body := serve(t, tc.handler, tc.method, tc.name, tc.contentType, fmt.Sprintf(object, tc.value), "test")
		if code != tc.code || c.writes != tc.writes || strings.Contains(body, "managedFields") {
			t.Errorf("%s %s: %d after %d writes: %s", tc.method, tc.contentType, code, c.writes, body)
		}
	}

	owned := configMap("b", "k", "v")
	owned.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`)}}
	for _, tc := range []struct {
		handler                   http.HandlerFunc
		method, contentType, body string
	}{
		{update, "PUT", "application/json", `{"metadata":{"name":"b"},"data":{"k":"w"}}`},
		{patch, "PATCH", mergePatch, `{"data":{"k":"w"}}`},
		{patch, "PATCH", jsonPatch, `[{"op":"add","path":"/data/k","value":"w"}]`},
		{patch, "PATCH", strategicPatch, `{"data":{"k":"w"}}`},
	} {
		c.put(owned)
		c.writes = 0
		code, body := serve(t, tc.handler, tc.method, "/b", tc.contentType, tc.body, "test")
		if code != 200 || c.writes != 2 || strings.Contains(body, "managedFields") || !strings.Contains(body, `"k":"w"`) {
			t.Errorf("%s %s: %d after %d writes: %s", tc.method, tc.contentType, code, c.writes, body)
		}
	}
}

// TestManagerIsTheUserAgent says in whose name a client writes that does not say.
func TestManagerIsTheUserAgent(t *testing.T) {
	scope := managedScope(t)
	c := newConfigMaps()
	patch := handler.PatchResource(c, scope, handler.PatchTypes(true))
	for _, tc := range []struct{ query, agent, want string }{
		{"", "kubectl/v1.37.0 (linux/amd64) kubernetes/1234567", "kubectl"},
		{"", "", "unknown"},
		{"", "/1", "unknown"},
		{"", "bell\u0007é/1", "bellé"},
		{"", strings.Repeat("é", 100), strings.Repeat("é", 64)},
		{"?fieldManager=me", "kubectl/v1.37.0", "me"},
	} {
		cm := configMap("a", "k", "v")
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`)}}
		c.put(cm)
		code, body := serve(t, patch, "PATCH", "/a"+tc.query, mergePatch, `{"data":{"k":"w"}}`, tc.agent)
		if code != 200 || !strings.Contains(body, fmt.Sprintf(`"manager":%q`, tc.want)) {
			t.Errorf("%q: want %q, got %d %s", tc.agent, tc.want, code, body)
		}
	}
}

// FuzzApply applies any bytes, to an object that is there and to one that is not.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "a: [", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: y}}\ndata:\n  k: w\n  k: v\n",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[{}],"finalizers":["a","a"]},"binaryData":{"a":"AA"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":null,"data":null}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}`,
		"a: &a [*a]", "? [a]\n: b", "1: 2", "\xff",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	scope := managedScope(f)
	f.Fuzz(func(t *testing.T, body string, exists bool) {
		c := newConfigMaps()
		if exists {
			c.put(configMap("a", "k", "v"))
		}
		code, answer := serve(t, handler.PatchResource(c, scope, handler.PatchTypes(true)), "PATCH", "/a?fieldManager=x", applyPatch, body, "fuzz")
		if code == http.StatusInternalServerError && !strings.Contains(answer, "failed to c") {
			t.Errorf("%d %s", code, answer)
		}
	})
}
