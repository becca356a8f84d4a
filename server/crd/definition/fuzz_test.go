package definition_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// try sends a definition as a dry run: whatever it is, it is the client's fault.
func (s *server) try(t *testing.T, body []byte) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, crdtest.Collection+"?dryRun=All", strings.NewReader(string(body)))
	req.Header.Set("Content-Type", "application/json")
	res := httptest.NewRecorder()
	filters(s.api.Router).ServeHTTP(res, req.WithContext(t.Context())) // no server here that would catch a panic
	if res.Code >= http.StatusInternalServerError || !json.Valid(res.Body.Bytes()) {
		t.Errorf("%d: %s", res.Code, res.Body)
	}
}

// FuzzDefinition sends any bytes.
func FuzzDefinition(f *testing.F) {
	s := start(f)
	f.Add([]byte(crdtest.Definition))
	f.Add([]byte(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{"versions":[{},{}],"conversion":{"strategy":"Webhook"}}}`))
	f.Add([]byte("apiVersion: apiextensions.k8s.io/v1\n"))
	f.Fuzz(func(t *testing.T, body []byte) { s.try(t, body) })
}

// FuzzSchema sends a good definition with any schema, so that what is behind the first checks has its share.
func FuzzSchema(f *testing.F) {
	s := start(f)
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"string","default":"x","pattern":"^x$","x-kubernetes-validations":[{"rule":"self == oldSelf","optionalOldSelf":true}]}}}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true}}}`,
		`{"type":"object","properties":{"i":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}},"additionalProperties":{"type":"object"}}`,
		`{"allOf":[{"not":{"oneOf":[{}]}}],"items":[{}],"definitions":{"a":{}},"dependencies":{"b":["c"]},"enum":[null,1,"a",{}],"multipleOf":0}`,
		`{"type":"object","x-kubernetes-validations":[{"rule":"self.all(k, self[k] == dyn(1))","messageExpression":"'a' + string(1)","fieldPath":".a['b']"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		patch, err := jsonpatch.DecodePatch([]byte(`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":` + schema + `}]`))
		if err != nil {
			return
		}
		body, err := patch.Apply([]byte(crdtest.Definition))
		if err != nil {
			return
		}
		s.try(t, body)
	})
}
