package endpoint_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/handler"
)

// TestApplyWithoutGoTypes lets two versions of a kind own fields: what v1 calls size, v1beta1 calls length.
func TestApplyWithoutGoTypes(t *testing.T) {
	w := &widgets{}
	store := w.store(t)
	handlers := map[string]func(*handler.RequestScope) http.HandlerFunc{
		"POST": func(s *handler.RequestScope) http.HandlerFunc { return handler.CreateResource(store, s) },
		"GET":  func(s *handler.RequestScope) http.HandlerFunc { return handler.GetResource(store, s) },
		"PUT":  func(s *handler.RequestScope) http.HandlerFunc { return handler.UpdateResource(store, s) },
		"PATCH": func(s *handler.RequestScope) http.HandlerFunc {
			return handler.PatchResource(store, s, handler.PatchTypes(false))
		},
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	send := func(kind schema.GroupVersionKind, method, name, contentType, body string) (int, string) {
		scope := w.scope(kind, store)
		scope.Authorizer = allowAll{}
		var err error
		scope.FieldManager, err = managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), w, w, w, kind,
			widgetV1.GroupVersion(), "", nil)
		must(t, err)
		req := httptest.NewRequest(method, "/apis/"+kind.GroupVersion().String()+"/namespaces/default/widgets"+name, strings.NewReader(body))
		req.Header.Set("Content-Type", contentType)
		info, err := resolver.NewRequestInfo(req)
		must(t, err)
		ctx := request.WithUser(request.WithRequestInfo(context.Background(), info), &user.DefaultInfo{Name: "ann"})
		res := httptest.NewRecorder()
		handlers[method](scope)(res, req.WithContext(ctx))
		return res.Code, res.Body.String()
	}
	const apply, merge, plain = "application/apply-patch+yaml", "application/merge-patch+json", runtime.ContentTypeJSON
	for _, tc := range []struct {
		what                            string
		kind                            schema.GroupVersionKind
		method, name, contentType, body string
		code                            int
		want                            string
		// owners of a field of v1
		field  string
		owners []string
	}{
		{"made by an apply", widgetV1, "PATCH", "/a?fieldManager=ann", apply, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"size":1,"shape":{"edges":3}}`, 201,
			`"color":"grey"`, "f:size", []string{"ann Apply example.com/v1"}},
		{"what is a default belongs to nobody", widgetV1, "GET", "/a", "", "", 200, `"color":"grey"`, "f:color", nil},
		{"a conflict between versions", widgetBeta, "PATCH", "/a?fieldManager=bob", apply, `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"a"},"length":2}`, 409,
			`conflict with \"ann\": .size`, "", nil},
		{"by force", widgetBeta, "PATCH", "/a?fieldManager=bob&force=true", apply, `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"a"},"length":2}`, 200,
			`"length":2`, "f:length", []string{"bob Apply example.com/v1beta1"}},
		{"the rest is still the first one's", widgetV1, "GET", "/a", "", "", 200, `"size":2`, "f:shape", []string{"ann Apply example.com/v1"}},
		{"nothing to strategically merge", widgetV1, "PATCH", "/a", "application/strategic-merge-patch+json", `{}`, 415,
			`accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"`, "", nil},
		{"a patch takes it", widgetV1, "PATCH", "/a?fieldManager=cid", merge, `{"size":3}`, 200, `"size":3`, "f:size", []string{"cid Update example.com/v1"}},
		{"an update", widgetV1, "PUT", "/a?fieldManager=dan", plain, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"size":4,"shape":{"edges":3},"color":"red"}`, 200,
			`"color":"red"`, "f:color", []string{"dan Update example.com/v1"}},
		{"a create", widgetV1, "POST", "?fieldManager=eve", plain, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"},"size":4}`, 201,
			`"size":4`, "f:size", []string{"eve Update example.com/v1"}},
		{"another kind", widgetV1, "PATCH", "/c?fieldManager=eve", apply, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"c"}}`, 400,
			`invalid object type: example.com/v1, Kind=Gadget`, "", nil},
	} {
		code, body := send(tc.kind, tc.method, tc.name, tc.contentType, tc.body)
		if code != tc.code || !strings.Contains(body, tc.want) {
			t.Errorf("%s: want %d %s\ngot %d %s", tc.what, tc.code, tc.want, code, body)
			continue
		}
		if tc.field != "" && !slices.Equal(owners(t, []byte(body), tc.field), tc.owners) {
			t.Errorf("%s: %s is %v's, want %v", tc.what, tc.field, owners(t, []byte(body), tc.field), tc.owners)
		}
	}

	// What is there already is not written again, although the time is another.
	_, before := send(widgetV1, "GET", "/a", "", "")
	_, after := send(widgetV1, "PATCH", "/a?fieldManager=ann", apply, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"shape":{"edges":3}}`)
	if after != before {
		t.Errorf("was %s\nis %s", before, after)
	}
}
