package filter

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// told is a resolver that notes the URLs that it was asked about last.
type told struct {
	request.RequestInfoFactory
	url string
}

func (r *told) NewRequestInfo(req *http.Request) (*request.RequestInfo, error) {
	r.url = req.URL.String()
	return r.RequestInfoFactory.NewRequestInfo(req)
}

// TestRequestInfoIsOfTheRequest: the authorizer is told of the query that the handlers work by, however its names are written and whatever
// logs mask. What can't be read is told to the resolver, which logs it, without what may be a secret.
func TestRequestInfoIsOfTheRequest(t *testing.T) {
	real := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	const pods = "/api/v1/namespaces/default/pods"
	for _, tc := range []struct{ method, uri string }{
		{"GET", pods + "?field%53elector=&fieldSelector=spec.nodeName%3Dn1"},
		{"DELETE", pods + "?field%53elector=&fieldSelector=spec.nodeName%3Dn1"},
		{"GET", pods + "?label%53elector=&labelSelector=tenant%3Dmine"},
		{"DELETE", pods + "?label%53elector=tenant%3Dyours&labelSelector=tenant%3Dmine"},
		{"GET", pods + "?field%53elector=metadata.name%3Db&fieldSelector=metadata.name%3Da"},
		{"GET", pods + "?fieldSelector=metadata.name%3Da&field%53elector=metadata.name%3Db"},
		{"GET", pods + "?w%61tch=true"},
		{"GET", pods + "?w%61tch=false&watch=true"},
		{"GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName%3Dexample.com%2Fs"},
		{"GET", "/apis/example.com/v1/cars?fieldSelector=spec.plate!%3DX-1,metadata.name%3Da"},
		{"GET", pods + "?token=hidden&watch=1"},
		{"GET", pods + "?watch=true;fieldSelector=metadata.name%3Da"},
		{"GET", pods + "/a/log?token=hidden"},
		{"POST", pods + "?token=hidden"},
	} {
		req := httptest.NewRequest(tc.method, tc.uri, nil)
		want, err := real.NewRequestInfo(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Config{RequestInfo: &told{RequestInfoFactory: real}}).infoOf(req)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s %s: the request's own info is\n%s", tc.method, tc.uri, d)
		}
	}
	for uri, verb := range map[string]string{
		pods + "?token=hidden&limit=x":                                    "list",
		pods + "?token=hidden&limit=x&w%61tch=1":                          "watch",
		pods + "?token=hidden&fieldSelector=hidden":                       "list",
		pods + "?label%53elector=hidden%20hidden&labelSelector=a%3Db":     "list",
		pods + "?field%53elector=&fieldSelector=metadata.name%3Da&limit=": "list",
	} {
		resolver := &told{RequestInfoFactory: real}
		got, err := (&Config{RequestInfo: resolver}).infoOf(httptest.NewRequest("GET", uri, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got.Verb != verb || strings.Contains(uri, "hidden") && (got.Name != "" || got.FieldSelector != "" || got.LabelSelector != "") {
			t.Errorf("%s: %+v", uri, got)
		}
		if strings.Contains(resolver.url, "hidden") {
			t.Errorf("%s: the resolver may log %s", uri, resolver.url)
		}
	}
	resolver := &told{RequestInfoFactory: real}
	if _, err := (&Config{RequestInfo: resolver}).infoOf(httptest.NewRequest("GET", "/api/v1/watch?token=hidden", nil)); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a path that ends early: %v", err)
	}
}
