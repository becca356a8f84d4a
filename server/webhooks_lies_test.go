package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/hooktest"
)

// TestPatchesThatAttack: what a webhook makes of an object is as bounded as what a client sends, and the object stays the one that was asked for.
func TestPatchesThatAttack(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "label")
	repeat := func(n int, of func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, of(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	w.Patched("/second", `[]`)
	for i, test := range []struct{ name, patch, post, apply, want string }{
		{"copies of copies", `[{"op":"add","path":"/data","value":{"a":"` + strings.Repeat("x", 100) + `"}},` +
			strings.TrimPrefix(repeat(40, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i) }), "["), "500", "500", ""},
		{"many operations", repeat(30_000, func(int) string { return `{"op":"add","path":"/metadata/finalizers/0","value":"a/b"}` }), "500", "500", ""},
		{"operations on a list", `[{"op":"add","path":"/x","value":` + repeat(200_000, func(int) string { return "1" }) + "}," +
			strings.TrimPrefix(repeat(30_000, func(int) string { return `{"op":"add","path":"/x/0","value":1}` }), "["), "500", "500", "too much work for one JSON patch"},
		{"nothing", `[null]`, "500", "500", ""},
		{"an operation without all", `[{}]`, "500", "500", ""},
		{"an operation without a path", `[{"op":"add","value":1}]`, "500", "500", ""},
		{"a copy of nothing", `[{"op":"copy","path":"/data"}]`, "500", "500", ""},
		{"a move of nothing", `[{"op":"move","path":"/data"}]`, "500", "500", ""},
		{"a number as an operation", `[{"op":1,"path":2,"from":3}]`, "500", "500", ""},
		{"another kind", `[{"op":"replace","path":"/kind","value":"Secret"}]`, "500", "500", ""},
		{"another version", `[{"op":"replace","path":"/apiVersion","value":"apps/v1"}]`, "500", "500", ""},
		{"no kind", `[{"op":"remove","path":"/kind"}]`, "201", "201", `"name":"`},
		{"all of it", `[{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}}]`, "201", "400", `other`},
		{"another namespace", `[{"op":"replace","path":"/metadata/namespace","value":"kube-system"}]`, "400", "400", `does not match the namespace sent on the request`},
		{"no metadata", `[{"op":"remove","path":"/metadata"}]`, "422", "400", `name`},
		{"depth", `[{"op":"add","path":"/data","value":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}]`, "500", "500", ""},
		{"too large", `[{"op":"add","path":"/data","value":{"a":"` + strings.Repeat("x", 2_000_000) + `"}}]`, "422", "422", "may not be more than 1048576 bytes"},
	} {
		w.Patched("/label", test.patch)
		for way, code := range map[string]string{
			"POST /api/v1/namespaces/default/configmaps\n\n": test.post,
			fmt.Sprintf("PATCH /api/v1/namespaces/default/configmaps/applied-%d?fieldManager=m\nContent-Type: application/apply-patch+yaml\n\n", i): test.apply,
		} {
			name := fmt.Sprintf("applied-%d", i)
			if strings.HasPrefix(way, "POST") {
				name = fmt.Sprintf("posted-%d", i)
			}
			got := c.Ask(t, way+fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"scene":"label"}}}`, name))
			if !strings.HasPrefix(got, code) || !strings.Contains(got, test.want) || len(got) > 5000 {
				t.Errorf("%s, %.5s: %.400s", test.name, way, got)
			}
			if got := c.Ask(t, "GET /api/v1/namespaces/default/configmaps/"+name); strings.HasPrefix(got, "200") != (code == "201" && !strings.Contains(test.want, "other")) {
				t.Errorf("%s, %.5s: afterwards %.400s", test.name, way, got)
			}
		}
	}
}

// TestReviewsThatLie: warnings and messages are bounded, and of an answer that allows and fails at once, what allows counts.
func TestReviewsThatLie(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "warn")
	lie := func(change func(*admissionv1.AdmissionResponse)) hooktest.Lie {
		return func(_ http.ResponseWriter, _ *http.Request, answer *admissionv1.AdmissionReview) bool {
			change(answer.Response)
			return false
		}
	}
	for i, test := range []struct {
		name string
		lie  hooktest.Lie
		code string
	}{
		{"warnings", lie(func(a *admissionv1.AdmissionResponse) {
			for range 1000 {
				a.Warnings = append(a.Warnings, strings.Repeat("w", 1000))
			}
		}), "201"},
		{"one warning", lie(func(a *admissionv1.AdmissionResponse) { a.Warnings = []string{strings.Repeat("w", 2<<20)} }), "201"},
		{"a warning that ends the header", lie(func(a *admissionv1.AdmissionResponse) {
			a.Warnings = []string{"a\r\nSet-Cookie: b=c\r\n\r\n\x1b[31m\u202e"}
		}), "201"},
		{"annotations", lie(func(a *admissionv1.AdmissionResponse) {
			a.AuditAnnotations = map[string]string{strings.Repeat("k", 1<<20): "", "a": strings.Repeat("v", 1<<20)}
		}), "201"},
		{"allowed and failed", lie(func(a *admissionv1.AdmissionResponse) {
			a.Result = &metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "no"}
		}), "201"},
		{"denied with the code of a success", lie(func(a *admissionv1.AdmissionResponse) {
			a.Allowed, a.Result = false, &metav1.Status{Status: metav1.StatusSuccess, Code: 201}
		}), "400"},
		{"denied with a redirect", lie(func(a *admissionv1.AdmissionResponse) { a.Allowed, a.Result = false, &metav1.Status{Code: 307} }), "400"},
		{"denied with a code below all", lie(func(a *admissionv1.AdmissionResponse) { a.Allowed, a.Result = false, &metav1.Status{Code: -1} }), "400"},
		{"denied with a switch of protocols", lie(func(a *admissionv1.AdmissionResponse) { a.Allowed, a.Result = false, &metav1.Status{Code: 101} }), "400"},
		{"denied with details", lie(func(a *admissionv1.AdmissionResponse) {
			a.Allowed, a.Result = false, &metav1.Status{Code: 429, Details: &metav1.StatusDetails{RetryAfterSeconds: 1 << 30}}
		}), "429"},
		{"years", func(w http.ResponseWriter, _ *http.Request, _ *admissionv1.AdmissionReview) bool {
			w.Header().Set("Retry-After", "1000000000")
			http.Error(w, "hidden words", http.StatusTooManyRequests)
			return true
		}, "504"},
		{"a byte at a time", func(w http.ResponseWriter, r *http.Request, _ *admissionv1.AdmissionReview) bool {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, " "); err != nil || http.NewResponseController(w).Flush() != nil {
					break
				}
			}
			return true
		}, "50"},
		{"a header without end", func(w http.ResponseWriter, _ *http.Request, _ *admissionv1.AdmissionReview) bool {
			w.Header().Set("Hidden", strings.Repeat("hidden words", 1<<20))
			return false
		}, "500"},
	} {
		w.Lie("/warn", test.lie)
		timeout := "" // the server's own, which a busy machine keeps
		if strings.HasPrefix("504", test.code) {
			timeout = "?timeout=2s"
		}
		got := c.Ask(t, fmt.Sprintf(newConfigMap, timeout, fmt.Sprint("a", i), "warn"))
		if !strings.HasPrefix(got, test.code) || len(got) > 8000 || strings.Contains(got, "hidden words") || strings.Contains(got, "\nSet-Cookie: b") {
			t.Errorf("%s: %d bytes: %.600s", test.name, len(got), got)
		}
	}
}
