package definition_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// A schema as deep as JSON may be ends no stack: that would end the process.
func TestDeepSchemas(t *testing.T) {
	s := start(t)
	const depth = 4900
	head, _, _ := strings.Cut(crdtest.Definition, `"openAPIV3Schema": `)
	for _, tc := range []struct {
		begin, end string
		code       int
	}{
		{`{"type":"object","properties":{"a":`, `}}`, http.StatusCreated},
		{`{"not":`, `}`, http.StatusUnprocessableEntity},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{"a":`, `}}}}`, http.StatusBadRequest},
	} {
		body := head + `"openAPIV3Schema": {"type":"object","properties":{"spec":` +
			strings.Repeat(tc.begin, depth) + `{"type":"string"}` + strings.Repeat(tc.end, depth) + `}}}}]}}`
		if code, answer := s.Send(t, http.MethodPost, crdtest.Collection+"?dryRun=All", []byte(body)); code != tc.code {
			t.Errorf("%s: %d, want %d: %.200s", tc.begin, code, tc.code, answer)
		}
	}
}
