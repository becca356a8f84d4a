package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// failingBackend is a kubelet and an extension API server that upgrades no connection. What it answers instead, the parameter answer
// of a request says.
type failingBackend struct {
	// asked counts its requests, and elsewhere those for the address that it redirects to.
	asked, elsewhere atomic.Int64
	url              string
}

func (b *failingBackend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/elsewhere" {
		b.elsewhere.Add(1)
		return
	}
	b.asked.Add(1)
	switch r.URL.Query().Get("command") {
	case "refuse":
		w.Header().Set("Connection", "keep-alive")
		http.Error(w, "not now", http.StatusForbidden)
	case "redirect":
		http.Redirect(w, r, b.url+"/elsewhere", http.StatusTemporaryRedirect)
	case "silence":
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(io.Discard, conn) // until the other side gives up
	default:
		fmt.Fprintln(w, "no upgrade")
	}
}

// TestFailedUpgrades has a node and an extension API server that don't upgrade connections. A client that asks for an upgrade keeps no
// connection on which it could speak to them in the server's name, and no redirect of theirs is followed.
func TestFailedUpgrades(t *testing.T) {
	t.Parallel()
	b := &failingBackend{}
	elsewhere := httptest.NewServer(b)
	t.Cleanup(elsewhere.Close)
	b.url = elsewhere.URL
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.failing.svc"})
	must(t, err)
	port := farServer(t, "127.0.0.1", certificate, fronts, b.ServeHTTP)
	front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts))
	external := &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}
	far := route{name: "failing", port: port, caBundle: serving.CertPEM(), service: external}
	far.install(t, front)
	front.judged(t, far.group(), "Passed")
	node := &testKubelet{Server: httptest.NewTLSServer(b)}
	t.Cleanup(node.Close)
	node.on(t, front)

	for name, path := range map[string]string{
		"a node":                  "/api/v1/namespaces/default/pods/p/exec?container=c&stdin=true",
		"an extension API server": "/apis/" + far.group() + "/v1/things?a=b",
	} {
		for answer, want := range map[string]int{"refuse": http.StatusForbidden, "redirect": 0, "ignore": 0} {
			t.Run(name+" that answers with "+answer, func(t *testing.T) {
				before := b.asked.Load()
				conn, from, res := front.upgrade(t, path+"&command="+answer, "SPDY/3.1")
				if want != 0 && res.StatusCode != want || want == 0 && res.StatusCode < 500 || res.Header.Get("Location") != "" {
					t.Errorf("%s, Location %q", res.Status, res.Header.Get("Location"))
				}
				// Sent on as it is, it would be in the server's name. The server itself answers it, or closes the connection.
				const headers = "Host: kx\r\nConnection: close\r\nX-Remote-User: mallory\r\nX-Remote-Group: system:masters\r\n\r\n"
				_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\n"+headers)
				rest, _ := io.ReadAll(io.MultiReader(res.Body, from)) // until its end, or a reset
				if again, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(rest))), nil); err == nil && again.StatusCode < 400 {
					t.Errorf("the next request on the connection is answered %s", again.Status)
				}
				if n := b.asked.Load() - before; n != 1 {
					t.Errorf("the backend had %d requests", n)
				}
				if n := b.elsewhere.Load(); n != 0 {
					t.Errorf("a redirect was followed %d times", n)
				}
			})
		}
	}
}

// TestUpgradesWithoutAnAnswer has an extension API server that never answers a request for an upgrade. The request ends
// nevertheless when its time is up, and gives its seat to others.
func TestUpgradesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.silent.svc"})
	must(t, err)
	port := farServer(t, "127.0.0.1", certificate, fronts, (&failingBackend{}).ServeHTTP)
	front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts))
	external := &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}
	far := route{name: "silent", port: port, caBundle: serving.CertPEM(), service: external}
	far.install(t, front)
	front.judged(t, far.group(), "Passed")
	if _, _, res := front.upgrade(t, "/apis/"+far.group()+"/v1/things?command=silence&timeout=100ms", "SPDY/3.1"); res.StatusCode < 500 {
		t.Errorf("%s", res.Status)
	}
}

// TestBodiesThatAreNotWaitedFor has clients that ask first whether their bodies are wanted, and an extension API server that answers
// without reading them: each further request on these connections gets its own answer.
func TestBodiesThatAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	fronts, serving := authority(t), authority(t)
	certificate, err := serving.ServingCert([]string{"far.early.svc"})
	must(t, err)
	port := farServer(t, "127.0.0.1", certificate, fronts, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Error(w, "not now", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, r.URL.Query().Get("n"))
	})
	front := start(t, tokens(t, aliceToken), asFrontProxy(t, fronts))
	external := &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}
	far := route{name: "early", port: port, caBundle: serving.CertPEM(), service: external}
	far.install(t, front)
	front.judged(t, far.group(), "Passed")
	path := "/apis/" + far.group() + "/v1/things"
	for i := range 10 {
		conn := front.dial(t, front.config, "http/1.1")
		const body = "GET /version HTTP/1.1\r\nHost: kx\r\n\r\n"
		fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: kx\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, len(body))
		if i%2 == 0 {
			_, _ = io.WriteString(conn, body) // the server may have closed the connection
		}
		from := bufio.NewReader(conn)
		res, err := http.ReadResponse(from, nil)
		if err == nil && res.StatusCode == http.StatusContinue {
			if i%2 == 1 {
				_, _ = io.WriteString(conn, body)
			}
			res, err = http.ReadResponse(from, nil)
		}
		if err != nil || res.StatusCode != http.StatusForbidden {
			t.Fatalf("a body that is not wanted: %v, %v", res, err)
		}
		want := fmt.Sprint("n", i)
		if _, answer := ask(t, front.httpClient(t), "GET", front.URL+path+"?n="+want, nil); string(answer) != want {
			t.Errorf("the next request is answered %q, not %q", answer, want)
		}
	}
}
