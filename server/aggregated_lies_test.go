package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestAggregatedLies: a server that a group is left to can't send this one elsewhere, nor speak in its name.
func TestAggregatedLies(t *testing.T) {
	t.Parallel()
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.lying.svc"})
	must(t, err)
	lies := map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/hidden", http.StatusTemporaryRedirect)
		},
		"relative": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/v1/secrets", http.StatusFound) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Kx-Journey", "forged")
			w.Header().Set("Audit-Id", "forged")
			w.Header().Set("X-Remote-User", "system:admin")
			fmt.Fprint(w, "{}")
		},
		"upgrade": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "\x00\x01garbage\r\n\r\n") // whoever asks may be gone
		},
		"half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "{}")
		},
		"a header without end": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Hidden", strings.Repeat("x", 12<<20)) },
	}
	port := farServer(t, "127.0.0.1", certificate, fronts, func(w http.ResponseWriter, r *http.Request) { lies[r.URL.Query().Get("lie")](w, r) })
	front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts))
	r := route{name: "lying", port: port, caBundle: serving.CertPEM(), service: &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}}
	r.install(t, front)
	front.judged(t, r.group(), "Passed")
	alice := front.tokenClient(t, "alice")
	alice.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	// A lie may break the connection over which its server is checked too, which is not available until the next check.
	get := func(lie string) (res *http.Response, body []byte, err error) {
		for range 20 {
			req, err := http.NewRequestWithContext(within(t), http.MethodGet, front.URL+"/apis/"+r.group()+"/v1/things?lie="+strings.ReplaceAll(lie, " ", "+"), http.NoBody)
			must(t, err)
			if res, err = alice.Do(req); err != nil {
				return nil, nil, err
			}
			body, err = io.ReadAll(res.Body)
			must(t, res.Body.Close())
			if err != nil || string(body) != "service unavailable\n" {
				return res, body, err
			}
			front.judged(t, r.group(), "Passed")
		}
		return res, body, nil
	}
	for lie := range lies {
		if lie == "upgrade" {
			continue
		}
		res, body, err := get(lie)
		if res == nil {
			if lie != "half" { // whose end is an error, of the answer or of the body
				t.Errorf("%s: %v", lie, err)
			}
			continue
		}
		if failed := res.StatusCode/100 == 5 || err != nil; failed != (lie != "headers") || res.Header.Get("Location") != "" || len(body) > 1000 {
			t.Errorf("%s: %d %v %.200q %v", lie, res.StatusCode, res.Header, body, err)
		}
		journey := res.Header.Get("Kx-Journey")
		if journey == "" || journey == "forged" || res.Header.Get("Audit-Id") == "forged" {
			t.Errorf("%s: the answer has the journey %q and the audit ID %q", lie, res.Header.Values("Kx-Journey"), res.Header.Values("Audit-Id"))
			continue
		}
		if len(stepsOf(front.journeyOf(t, journey), steps.HandlerAggregate.String())) != 1 {
			t.Errorf("%s: the journey is another request's", lie)
		}
	}
	_, _, res := front.upgrade(t, "/apis/"+r.group()+"/v1/things?lie=upgrade", "shouting")
	if body, err := io.ReadAll(res.Body); res.StatusCode/100 != 5 {
		t.Errorf("garbage instead of an upgrade: %d %q %v", res.StatusCode, body, err)
	}
}

// TestAggregatedLoop: a group that is left to the server itself is not available, and nobody goes around.
func TestAggregatedLoop(t *testing.T) {
	t.Parallel()
	front := start(t, tokens(t, aliceToken))
	spec := corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}
	_, err := front.admin(t).CoreV1().Services("default").Create(within(t), &corev1.Service{ObjectMeta: named("kubernetes"), Spec: spec}, metav1.CreateOptions{})
	must(t, err)
	front.leave(t, apiregistrationv1.APIServiceSpec{
		Group: "loop.example.com", InsecureSkipTLSVerify: true, Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes"},
	})
	if c := front.judged(t, "loop.example.com", "FailedDiscoveryCheck"); c.Status != apiregistrationv1.ConditionFalse || !strings.Contains(c.Message, front.URL) {
		t.Errorf("%+v", c)
	}
	res, body := ask(t, front.tokenClient(t, "alice"), "GET", front.URL+"/apis/loop.example.com/v1/things", nil)
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s %s", res.Status, body)
	}
}
