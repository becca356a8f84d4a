package conversion_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/server/peertest"
)

func TestWrongAnswers(t *testing.T) {
	object := func(change func(*unstructured.Unstructured)) func(*apiextensionsv1.ConversionReview) {
		return func(review *apiextensionsv1.ConversionReview) {
			obj := review.Response.ConvertedObjects[len(review.Response.ConvertedObjects)-1].Object.(*unstructured.Unstructured)
			change(obj)
		}
	}
	response := func(change func(*apiextensionsv1.ConversionResponse)) func(*apiextensionsv1.ConversionReview) {
		return func(review *apiextensionsv1.ConversionReview) { change(review.Response) }
	}
	const prefix = "conversion webhook for example.com/v1, Kind=Widget "
	for _, tc := range []struct {
		what      string
		spoil     func(*apiextensionsv1.ConversionReview)
		one, many string
	}{
		{"another name", object(func(u *unstructured.Unstructured) { u.SetName("z") }),
			"returned invalid object: must have the same name: b != z",
			"returned invalid converted object at index 1: must have the same name: b != z"},
		{"another namespace", object(func(u *unstructured.Unstructured) { u.SetNamespace("z") }),
			"returned invalid object: must have the same namespace: default != z",
			"returned invalid converted object at index 1: must have the same namespace: default != z"},
		{"another UID", object(func(u *unstructured.Unstructured) { u.SetUID("z") }),
			"returned invalid object: must have the same UID: u-b != z",
			"returned invalid converted object at index 1: must have the same UID: u-b != z"},
		{"another version", object(func(u *unstructured.Unstructured) { u.SetAPIVersion("example.com/v1") }),
			"returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
			"returned invalid converted object at index 1: invalid groupVersion (expected example.com/v2, received example.com/v1)"},
		{"another kind", object(func(u *unstructured.Unstructured) { u.SetKind("Gadget") }),
			"returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
			"returned invalid converted object at index 1: invalid kind (expected Widget, received Gadget)"},
		{"labels that are none", object(func(u *unstructured.Unstructured) { u.Object["metadata"].(map[string]any)["labels"] = "x" }),
			"returned invalid metadata: invalid metadata.labels of type string in converted object",
			"returned invalid metadata in object at index 1: invalid metadata.labels of type string in converted object"},
		{"a label that is none", object(func(u *unstructured.Unstructured) {
			u.Object["metadata"].(map[string]any)["annotations"] = map[string]any{"a": int64(1)}
		}),
			"returned invalid metadata: metadata.annotations[a] must be a string, but is int64 in converted object",
			"returned invalid metadata in object at index 1: metadata.annotations[a] must be a string, but is int64 in converted object"},
		{"one object too few", response(func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = r.ConvertedObjects[1:] }),
			"returned 0 objects, expected 1", "returned 1 objects, expected 2"},
		{"another question's answer", response(func(r *apiextensionsv1.ConversionResponse) { r.UID = "z" }),
			`failed: expected response.uid="`, `failed: expected response.uid="`},
		{"a failure", response(func(r *apiextensionsv1.ConversionResponse) {
			r.Result = metav1.Status{Status: metav1.StatusFailure, Message: "no way"}
		}), "failed: no way", "failed: no way"},
		{"a failure without words", response(func(r *apiextensionsv1.ConversionResponse) { r.Result = metav1.Status{} }),
			"failed: response.result.status was '', not 'Success'", "failed: response.result.status was '', not 'Success'"},
		{"no response", func(r *apiextensionsv1.ConversionReview) { r.Response = nil }, "failed: no response provided", "failed: no response provided"},
		{"another review", func(r *apiextensionsv1.ConversionReview) { r.APIVersion = "apiextensions.k8s.io/v1beta1" },
			"failed: ", "failed: "},
	} {
		hook := peertest.NewWebhook(t, rename)
		hook.Spoil(tc.spoil)
		c := converterFor(t, definition(hook.ClientConfig(), "v1"))
		a, b := widget(v1, "a", map[string]any{"size": int64(1)}), widget(v1, "b", map[string]any{"size": int64(2)})
		list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{a, b}}
		list.SetGroupVersionKind(v2.WithKind("WidgetList"))
		if _, err := c.Convert(t.Context(), &b, v2); err == nil || !strings.HasPrefix(err.Error(), prefix+tc.one) {
			t.Errorf("%s: want %q, got %v", tc.what, prefix+tc.one, err)
		}
		if _, err := c.Convert(t.Context(), list, v2); err == nil || !strings.HasPrefix(err.Error(), prefix+tc.many) {
			t.Errorf("%s: want %q, got %v", tc.what, prefix+tc.many, err)
		}
	}
}

func TestWebhooksThatDoNotAnswer(t *testing.T) {
	hook := peertest.NewWebhook(t, rename)
	crd := definition(hook.ClientConfig(), "v1")
	in := widget(v1, "a", map[string]any{"size": int64(1)})
	try := func(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) string {
		t.Helper()
		_, err := converterFor(t, crd).Convert(ctx, &in, v2)
		if err == nil {
			t.Fatal("it answered")
		}
		return err.Error()
	}
	const prefix = "conversion webhook for example.com/v1, Kind=Widget failed: "
	hook.Reply(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") })
	if got := try(t.Context(), crd); !strings.HasPrefix(got, prefix) {
		t.Errorf("garbage: %s", got)
	}
	hook.Reply(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) })
	if got := try(t.Context(), crd); !strings.HasPrefix(got, prefix+"the server responded with the status code 418 but did not return more information") {
		t.Errorf("refused: %s", got)
	}
	// What stands behind the URL may be no webhook: what it says is not passed on, in no form.
	for code, want := range map[int]string{
		400: "the server rejected our request for an unknown reason",
		403: "403 Forbidden",
		404: "the server could not find the requested resource",
		500: `an error on the server ("500 Internal Server Error") has prevented the request from succeeding`,
		503: "the server is currently unable to handle the request",
	} {
		for _, mediaType := range []string{"", "text/plain", "application/json"} {
			hook.Reply(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", mediaType)
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"hidden","code":%d}`, code)
			})
			if got := try(t.Context(), crd); got != prefix+want {
				t.Errorf("%d of %q: %s", code, mediaType, got)
			}
		}
	}
	// One that does not stop is not listened to for ever.
	hook.Reply(func(w http.ResponseWriter, _ *http.Request) {
		for err := error(nil); err == nil; {
			_, err = w.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
	})
	if got := try(t.Context(), crd); !strings.HasPrefix(got, prefix) {
		t.Errorf("endless: %s", got)
	}

	// One that is slow is given up with the request that asks it, whether it has begun to answer or not.
	for _, begun := range []string{"", "{"} {
		asked, given := make(chan struct{}), make(chan struct{})
		hook.Reply(func(w http.ResponseWriter, _ *http.Request) {
			if begun != "" {
				_, _ = io.WriteString(w, begun)
				_ = http.NewResponseController(w).Flush()
			}
			close(asked)
			<-given // an answer that comes while the call is given up would win sometimes
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if got := try(ctx, crd); !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, "context canceled") {
			t.Errorf("slow after %q: %s", begun, got)
		}
		close(given)
	}
	hook.Reply(nil)

	distrusted := definition(hook.ClientConfig(), "v1")
	distrusted.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte(" \n")
	if got := try(t.Context(), distrusted); !strings.HasPrefix(got, prefix+`Post "`+hook.Server.URL+`/convert?timeout=30s": `) || !strings.Contains(got, "certificate") {
		t.Errorf("without its CA: %s", got)
	}
	hook.Server.Close()
	if got := try(t.Context(), crd); !strings.HasPrefix(got, prefix+`Post "`+hook.Server.URL+`/convert?timeout=30s": dial tcp`) {
		t.Errorf("gone: %s", got)
	}
}

// TestRedirects has a webhook send the objects elsewhere.
func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was asked", r.Method, r.URL)
	}))
	defer elsewhere.Close()
	hook := peertest.NewWebhook(t, rename)
	in := widget(v1, "a", map[string]any{"size": int64(1)})
	for _, code := range []int{301, 302, 303, 307, 308} {
		hook.Reply(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, code) })
		_, err := converterFor(t, definition(hook.ClientConfig(), "v1")).Convert(t.Context(), &in, v2)
		if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("it answered %d, and redirects are not followed: let the configuration name the address that serves it", code)) {
			t.Errorf("%d: %v", code, err)
		}
		if calls := hook.Calls(); len(calls) != 1 {
			t.Errorf("%d: the webhook was asked %d times", code, len(calls))
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"x","result":{"status":"Success"},"convertedObjects":[{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a","labels":{"a":1}}}]}}`))
	f.Add([]byte(`{"response":null}`))
	var answer []byte
	hook := peertest.NewWebhook(f, rename)
	hook.Reply(func(w http.ResponseWriter, _ *http.Request) { w.Write(answer) })
	c := converterFor(f, definition(hook.ClientConfig(), "v1beta1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		answer = data
		in := widget(v1, "a", map[string]any{"size": int64(1)})
		out, err := c.Convert(t.Context(), &in, v2)
		if err != nil {
			return
		}
		u := out.(*unstructured.Unstructured)
		if u.GetName() != "a" || u.GetUID() != "u-a" || u.GetResourceVersion() != "7" || u.GetAPIVersion() != v2.String() {
			t.Errorf("%s became %v", data, u)
		}
	})
}
