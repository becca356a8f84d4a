package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// as is a client with somebody's token.
func (r *running) as(t testing.TB, token string) *kubernetes.Clientset {
	t.Helper()
	config := rest.AnonymousClientConfig(r.config)
	config.BearerToken = token
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	t.Cleanup(c.CoreV1().RESTClient().(*rest.RESTClient).Client.CloseIdleConnections)
	return c
}

// ask sends a request and returns its answer whole.
func ask(t testing.TB, client *http.Client, method, url string, body io.Reader, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), method, url, body)
	must(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(t, err)
	return res, data
}

// TestSeats takes the only seat for writes: others are told to come again, administrators and watches need none.
func TestSeats(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, "somebody,ann,1\n"), func(o *options.Options) {
		o.Limits.PriorityAndFairness = false
		o.Limits.MaxRequestsInFlight, o.Limits.MaxMutatingRequestsInFlight = 1, 1
	})
	const maps = "/api/v1/namespaces/default/configmaps"
	client := r.httpClient(t)
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 10 * time.Minute}, Filter: "step:store.create resource:configmaps", Count: 1,
	})
	answered := make(chan int, 1)
	go func() {
		res, err := client.Post(r.URL+maps, "application/json", strings.NewReader(`{"metadata":{"name":"slow"}}`))
		if err != nil {
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()

	// A request takes its seat before it meets the fault, which another would meet instead.
	until(t, "the request that takes the seat is slow", func() bool {
		var slow v1alpha1.Fault
		r.kx(t, "GET", "faults/slow", nil, 200, &slow)
		return slow.Status.Hits > 0
	})
	anyone := r.anyone(t)
	var res *http.Response
	var data []byte
	until(t, "the seat is taken", func() bool {
		res, data = ask(t, anyone, "POST", r.URL+maps, strings.NewReader("{}"), "Authorization: Bearer somebody")
		return res.StatusCode != http.StatusForbidden
	})
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
		t.Errorf("without a seat: %s %v %s", res.Status, res.Header, data)
	}
	busy(t, res, data)
	if res, data := ask(t, client, "POST", r.URL+maps, strings.NewReader(`{"metadata":{"name":"stands"}}`)); res.StatusCode != 201 {
		t.Errorf("an administrator without a seat: %s", data)
	}
	// A read has a seat of its own, and watches take none.
	for range 3 {
		w, err := r.admin(t).CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
	}
	if res, _ := ask(t, anyone, "GET", r.URL+maps, nil, "Authorization: Bearer somebody"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a read: %s", res.Status)
	}
	r.kx(t, "DELETE", "faults/slow", nil, 200, nil)
	if code := <-answered; code != 201 {
		t.Errorf("who has the seat is answered %d", code)
	}
	until(t, "the seat is free", func() bool {
		res, _ := ask(t, anyone, "POST", r.URL+maps, strings.NewReader("{}"), "Authorization: Bearer somebody")
		return res.StatusCode == http.StatusForbidden
	})
}

// TestLargeObjects writes and reads what is just below the limit, and what grows above etcd's.
func TestLargeObjects(t *testing.T) {
	r := shared(t)
	ns := r.namespace(t, "large")
	client := r.httpClient(t)
	pods := r.URL + "/api/v1/namespaces/" + ns + "/pods"
	const limit = 3 << 20
	pod := func(name string, argument int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i","args":[%q]}]}}`, name, strings.Repeat("x", argument))
	}
	argument := limit - len(pod("full", 0))
	res, data := ask(t, client, "POST", pods, strings.NewReader(pod("full", argument)))
	if res.StatusCode != 201 {
		t.Fatalf("%s: %.300s", res.Status, data)
	}
	for _, headers := range [][]string{nil, {"Accept-Encoding: gzip"}} {
		res, data = ask(t, client, "GET", pods+"/full", nil, headers...)
		if (res.Header.Get("Content-Encoding") == "gzip") != (headers != nil) || headers == nil && strings.Count(string(data), "x") < argument {
			t.Errorf("%v: %d bytes with %v", headers, len(data), res.Header)
		}
	}
	res, data = ask(t, client, "PATCH", pods+"/full", strings.NewReader(`{"metadata":{"labels":{"a":"b"}}}`), "Content-Type: application/merge-patch+json")
	if res.StatusCode != 200 {
		t.Errorf("a patch: %s: %.300s", res.Status, data)
	}
	res, data = ask(t, client, "POST", pods, strings.NewReader(pod("over", argument+1)))
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a byte above the limit: %s: %.300s", res.Status, data)
	}
}

// TestSlowBody begins to send a body. Its request has the only seat, and gives it to others until the rest is there.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "somebody,ann,1\n"), func(o *options.Options) {
		o.Limits.PriorityAndFairness, o.Limits.MaxMutatingRequestsInFlight = false, 1
	})
	const maps = "/api/v1/namespaces/default/configmaps"
	anyone := r.anyone(t)
	other := func() int {
		res, _ := ask(t, anyone, "POST", r.URL+maps, strings.NewReader("{}"), "Authorization: Bearer somebody")
		return res.StatusCode
	}
	if code := other(); code != http.StatusForbidden { // it has a connection then: the seat is held for a second
		t.Fatal(code)
	}
	body, rest := io.Pipe()
	answered := make(chan string, 1)
	client := r.httpClient(t)
	go func() {
		res, err := client.Post(r.URL+maps, "application/json", body)
		if err != nil {
			answered <- err.Error()
			return
		}
		res.Body.Close()
		answered <- res.Status
	}()
	_, err := io.WriteString(rest, `{"metadata":`)
	must(t, err)
	until(t, "the seat is taken", func() bool { return other() == http.StatusTooManyRequests })
	until(t, "the seat is given up", func() bool { return other() == http.StatusForbidden })
	_, err = io.WriteString(rest, `{"name":"slow"}}`)
	must(t, err)
	must(t, rest.Close())
	if got := <-answered; got != "201 Created" {
		t.Errorf("when the body is there: %s", got)
	}
	until(t, "the seat is free", func() bool { return other() == http.StatusForbidden })
}

// TestStoredTooLarge sends little that defaults make too much for etcd.
func TestStoredTooLarge(t *testing.T) {
	t.Parallel()
	r := shared(t)
	crd := cronTab("large.example.com")
	text := apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["many"] = apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"text": text},
		}},
	}
	r.define(t, crd)
	defer r.undefine(t, crd.Name)
	u := tab(schema.GroupVersion{Group: crd.Spec.Group, Version: "v1"}, "default", "large")
	u.Object["many"] = slices.Repeat([]any{map[string]any{}}, 1+embedded.MaxRequestBytes>>20)
	body, err := u.MarshalJSON()
	must(t, err)
	res, data := ask(t, r.httpClient(t), "POST", r.URL+"/apis/large.example.com/v1/namespaces/default/crontabs", bytes.NewReader(body))
	var status metav1.Status
	must(t, json.Unmarshal(data, &status))
	if res.StatusCode != http.StatusRequestEntityTooLarge || status.Reason != metav1.StatusReasonRequestEntityTooLarge {
		t.Errorf("%d bytes: %s: %.300s", len(body), res.Status, data)
	}
}

// audited reads the events of an audit log.
func audited(t *testing.T, file string) (events []auditv1.Event) {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var e auditv1.Event
		must(t, json.Unmarshal(lines.Bytes(), &e))
		events = append(events, e)
	}
	return events
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	must(t, os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n"+
		"- {level: RequestResponse, verbs: [create], resources: [{group: '', resources: [configmaps]}]}\n"+
		"- {level: Metadata, resources: [{group: '', resources: [secrets]}]}\n- {level: None}\n"), 0o600))
	for name, policyFile := range map[string]string{"default": "", "policy": policy} {
		file := filepath.Join(dir, name+".log")
		r, stop, err := launch(tokens(t, "somebody,ann,1\n"), func(o *options.Options) { o.Audit.Log.Path, o.Audit.PolicyFile = file, policyFile })
		must(t, err)
		ctx, c := within(t), r.admin(t).CoreV1()
		_, err = c.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c"), Data: map[string]string{"k": "shown"}}, metav1.CreateOptions{})
		must(t, err)
		_, err = c.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("s"), StringData: map[string]string{"k": "hidden"}}, metav1.CreateOptions{})
		must(t, err)
		_, err = c.Secrets("default").Get(ctx, "s", metav1.GetOptions{})
		must(t, err)
		if err := r.as(t, "somebody").CoreV1().Secrets("default").Delete(ctx, "s", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("somebody's deletion: %v", err)
		}
		must(t, stop())

		var lines []string
		for _, e := range audited(t, file) {
			if e.ObjectRef == nil || e.ObjectRef.Resource == "namespaces" {
				continue // the server's own
			}
			lines = append(lines, fmt.Sprintf("%s %s %s/%s %s %d %v %v", e.User.Username, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Name, e.Level, e.ResponseStatus.Code, e.RequestObject != nil, e.ResponseObject != nil))
		}
		want := map[string][]string{
			"default": {
				"kx-admin create configmaps/c Metadata 201 false false",
				"kx-admin create secrets/s Metadata 201 false false",
				"ann delete secrets/s Metadata 403 false false",
			},
			"policy": {
				"kx-admin create configmaps/c RequestResponse 201 true true",
				"kx-admin create secrets/s Metadata 201 false false",
				"kx-admin get secrets/s Metadata 200 false false",
				"ann delete secrets/s Metadata 403 false false",
			},
		}[name]
		if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("%s: the log has\n%s\nnot\n%s", name, got, strings.Join(want, "\n"))
		}
		data, err := os.ReadFile(file)
		must(t, err)
		if bytes.Contains(data, []byte("hidden")) || bytes.Contains(data, []byte("Bearer")) {
			t.Errorf("%s: a secret is in the log", name)
		}
	}
}

// TestOwnCertificates brings the serving certificate and the clients' authority from elsewhere.
func TestOwnCertificates(t *testing.T) {
	t.Parallel()
	elsewhere, err := identity.OpenDataDir(t.TempDir())
	must(t, err)
	defer elsewhere.Close()
	authority, err := identity.LoadAuthority(elsewhere)
	must(t, err)
	serving, err := authority.ServingCert(nil)
	must(t, err)
	var cert []byte
	for _, der := range serving.Certificate {
		cert = append(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	key, err := x509.MarshalPKCS8PrivateKey(serving.PrivateKey)
	must(t, err)
	must(t, os.WriteFile(elsewhere.File("tls.crt"), cert, 0o600))
	must(t, os.WriteFile(elsewhere.File("tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	r := start(t, func(o *options.Options) {
		o.Access.ClientCAFile = elsewhere.File("ca.crt")
		o.Serving.TLSCertFile, o.Serving.TLSPrivateKeyFile = elsewhere.File("tls.crt"), elsewhere.File("tls.key")
	})
	connection, err := tls.Dial("tcp", strings.TrimPrefix(r.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
	must(t, err)
	if got := connection.ConnectionState().PeerCertificates[0]; !bytes.Equal(got.Raw, serving.Certificate[0]) {
		t.Errorf("the server shows the certificate of %v", got.Subject)
	}
	must(t, connection.Close())
	for _, who := range []struct {
		user, group string
		code        int
	}{
		{"boss", "system:masters", 200},
		{"ann", "workers", 403},
	} {
		config := rest.AnonymousClientConfig(r.config)
		config.CertData, config.KeyData, err = authority.ClientCert(who.user, who.group)
		must(t, err)
		client, err := rest.HTTPClientFor(config)
		must(t, err)
		defer client.CloseIdleConnections()
		res, data := ask(t, client, "GET", r.URL+"/api/v1/namespaces", nil)
		if res.StatusCode != who.code || who.code == 403 && !strings.Contains(string(data), `User \"ann\" cannot list`) {
			t.Errorf("%s of another authority: %s: %.300s", who.user, res.Status, data)
		}
	}
	// The administrator of the kubeconfig still comes in.
	_, err = r.admin(t).CoreV1().Namespaces().List(within(t), metav1.ListOptions{})
	must(t, err)
}

func TestTokenUsers(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "t-admin,root,1,\"system:masters,x\"\nt-ann,ann,2\n"), withObjects("192.0.2.1"))
	r.ready(t)
	ctx := within(t)
	if _, err := r.as(t, "t-admin").CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("a token of an administrator: %v", err)
	}
	if _, err := r.as(t, "t-ann").CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a token of somebody: %v", err)
	}
	if _, err := r.as(t, "t-none").CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token of nobody: %v", err)
	}
	anyone := r.anyone(t)
	for path, code := range map[string]int{
		"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 200, "/version/": 200,
		"/readyz/etcd": 403, "/healthz/": 403, "/version/anything": 403, "/metrics": 403, "/api": 403, "/openapi/v2": 403, "/": 403, "/api/v1/namespaces": 403, "/readyz/../metrics": 403,
	} {
		if res, _ := ask(t, anyone, "GET", r.URL+path, nil); res.StatusCode != code {
			t.Errorf("%s for anyone: %s", path, res.Status)
		}
	}
	if res, _ := ask(t, anyone, "POST", r.URL+"/healthz", nil); res.StatusCode != 403 {
		t.Errorf("POST /healthz for anyone: %s", res.Status)
	}
}

func TestOneServerADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, in(dir))
	_, _, err := launch(in(dir))
	if err == nil || !strings.Contains(err.Error(), r.URL) {
		t.Errorf("a second server on the directory: %v", err)
	}
	// The first does not mind.
	_, err = r.admin(t).CoreV1().Namespaces().List(within(t), metav1.ListOptions{})
	must(t, err)
}

// TestWatchStorm has many watchers: each gets each event, in order.
func TestWatchStorm(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "storm")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	const watchers, events = 200, 50
	var ready, done sync.WaitGroup
	ready.Add(watchers)
	for i := range watchers {
		done.Go(func() {
			w, err := maps.Watch(ctx, metav1.ListOptions{})
			ready.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Stop()
			for n := range events {
				e, ok := <-w.ResultChan()
				cm, isMap := e.Object.(*corev1.ConfigMap)
				if want := fmt.Sprintf("e-%03d", n); !ok || !isMap || e.Type != watch.Added || cm.Name != want {
					t.Errorf("watcher %d got %v instead of %s", i, e, want)
					return
				}
			}
		})
	}
	ready.Wait()
	for n := range events {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("e-%03d", n))}, metav1.CreateOptions{})
		must(t, err)
	}
	done.Wait()
}

// TestSlowWatcher has a watcher that does not read, until all buffers are full. Another one waits for nothing, and in the
// end the slow one has missed nothing.
func TestSlowWatcher(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "slow")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/api/v1/namespaces/"+ns+"/configmaps?watch=1", nil)
	must(t, err)
	slow, err := r.httpClient(t).Do(req)
	must(t, err)
	defer slow.Body.Close()
	w, err := maps.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer w.Stop()

	const events = 40
	large := strings.Repeat("x", 256<<10)
	for n := range events {
		name := fmt.Sprintf("e-%03d", n)
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"k": large}}, metav1.CreateOptions{})
		must(t, err)
		if e := <-w.ResultChan(); e.Object.(*corev1.ConfigMap).Name != name {
			t.Fatalf("instead of %s came %v", name, e)
		}
	}
	decoder := json.NewDecoder(slow.Body)
	for n := range events {
		var e struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		must(t, decoder.Decode(&e))
		if e.Type != "ADDED" || e.Object.Name != fmt.Sprintf("e-%03d", n) {
			t.Fatalf("the slow watcher got %s %s", e.Type, e.Object.Name)
		}
	}
}
