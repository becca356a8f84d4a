package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// kubeChecks are the checks of kube-apiserver v1.37.1's /readyz, in its order.
const kubeChecks = `ping log etcd etcd-readiness informer-sync poststarthook/start-apiserver-admission-initializer
poststarthook/generic-apiserver-start-informers poststarthook/priority-and-fairness-config-consumer
poststarthook/priority-and-fairness-filter poststarthook/storage-object-count-tracker-hook poststarthook/start-apiextensions-informers
poststarthook/start-apiextensions-controllers poststarthook/crd-informer-synced poststarthook/start-system-namespaces-controller
poststarthook/peer-endpoint-reconciler-controller poststarthook/start-cluster-authentication-info-controller
poststarthook/start-kube-apiserver-identity-lease-controller poststarthook/start-kube-apiserver-identity-lease-garbage-collector
poststarthook/storage-readiness poststarthook/start-legacy-token-tracking-controller poststarthook/start-service-ip-repair-controllers
poststarthook/rbac/bootstrap-roles poststarthook/scheduling/bootstrap-system-priority-classes
poststarthook/priority-and-fairness-config-producer poststarthook/bootstrap-controller
poststarthook/start-kubernetes-service-cidr-controller poststarthook/start-kube-aggregator-informers
poststarthook/apiservice-status-local-available-controller poststarthook/apiservice-status-remote-available-controller
poststarthook/apiservice-registration-controller poststarthook/apiservice-discovery-controller
poststarthook/kube-apiserver-autoregistration autoregister-completion poststarthook/apiservice-openapi-controller
poststarthook/apiservice-openapiv3-controller shutdown`

// TestChecks asks for the health checks: all have names that kube-apiserver has, in its order, and each can be asked for alone,
// left out, and is counted.
func TestChecks(t *testing.T) {
	t.Parallel()
	r := shared(t)
	client := r.httpClient(t)
	var index struct{ Paths []string }
	if code := r.read(t, "/", &index); code != http.StatusOK {
		t.Fatal(code)
	}
	for _, endpoint := range []string{"healthz", "livez", "readyz"} {
		until(t, endpoint+" passes", func() bool {
			res, _ := ask(t, client, "GET", r.URL+"/"+endpoint, nil)
			return res.StatusCode == http.StatusOK
		})
		_, body := ask(t, client, "GET", r.URL+"/"+endpoint+"?verbose", nil)
		left := strings.Fields(kubeChecks)
		for line := range strings.Lines(strings.TrimSuffix(string(body), endpoint+" check passed\n")) {
			name := strings.TrimSuffix(strings.TrimPrefix(line, "[+]"), " ok\n")
			of, ours := strings.CutPrefix(name, "controller/")
			ours = ours && slices.Contains(controller.Names(), of) || name == "authorization" // whether its file could be read
			if !ours {
				i := slices.Index(left, name)
				if i < 0 {
					t.Fatalf("%s: %q is no check of kube-apiserver's, or not in its place", endpoint, line)
				}
				left = left[i+1:]
			}
			path := "/" + endpoint + "/" + name
			if res, body := ask(t, client, "GET", r.URL+path, nil); res.StatusCode != http.StatusOK || string(body) != "ok" {
				t.Errorf("%s: %s %s", path, res.Status, body)
			}
			if !slices.Contains(index.Paths, path) {
				t.Errorf("%s is not in the index", path)
			}
		}
	}
	_, body := ask(t, client, "GET", r.URL+"/readyz?verbose&exclude=etcd&exclude=none", nil)
	for _, want := range []string{"[+]etcd excluded: ok\n", "[+]etcd-readiness ok\n", "[+]poststarthook/storage-readiness ok\n", "[+]shutdown ok\n",
		"warn: some health checks cannot be excluded: no matches for \"none\"\n", "readyz check passed\n"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
	_, body = ask(t, client, "GET", r.URL+"/metrics/slis", nil)
	for _, want := range []string{
		"# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n# TYPE kubernetes_healthcheck gauge\n",
		`kubernetes_healthcheck{name="poststarthook/crd-informer-synced",type="livez"} 1`,
		"# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n# TYPE kubernetes_healthchecks_total counter\n",
		`kubernetes_healthchecks_total{name="etcd-readiness",status="success",type="readyz"} `,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
}

// conformance are the checks that the conformance tests of Kubernetes v1.37.1 want of /healthz and /livez; of /readyz they
// also want informer-sync.
const conformance = `ping log etcd poststarthook/start-apiserver-admission-initializer poststarthook/generic-apiserver-start-informers
poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers poststarthook/crd-informer-synced
poststarthook/bootstrap-controller poststarthook/start-system-namespaces-controller poststarthook/start-service-ip-repair-controllers
poststarthook/scheduling/bootstrap-system-priority-classes poststarthook/start-cluster-authentication-info-controller
poststarthook/start-kube-aggregator-informers poststarthook/apiservice-registration-controller
poststarthook/apiservice-status-local-available-controller poststarthook/apiservice-status-remote-available-controller
poststarthook/kube-apiserver-autoregistration autoregister-completion poststarthook/apiservice-openapi-controller`

// TestChecksOfConformance wants these checks, and that they mean something: an API service is there for each version as soon as the
// server is healthy.
func TestChecksOfConformance(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.InitialObjects = true })
	client := r.httpClient(t)
	for path, more := range map[string]string{"/healthz": "", "/livez": "", "/readyz": " informer-sync"} {
		until(t, path+" passes", func() bool {
			res, _ := ask(t, client, "GET", r.URL+path, nil)
			return res.StatusCode == http.StatusOK
		})
		_, body := ask(t, client, "GET", r.URL+path+"?verbose=1", nil)
		lines := strings.Split(string(body), "\n")
		for _, name := range strings.Fields(conformance + more) {
			if !slices.Contains(lines, "[+]"+name+" ok") {
				t.Errorf("%s has no check %s:\n%s", path, name, body)
			}
		}
	}
	var services struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if code := r.read(t, "/apis/apiregistration.k8s.io/v1/apiservices", &services); code != http.StatusOK || len(services.Items) < 20 {
		t.Errorf("%d, with %d API services", code, len(services.Items))
	}
	for _, one := range services.Items {
		if c := one.Status.Conditions; len(c) != 1 || c[0].Type != "Available" || c[0].Status != "True" {
			t.Errorf("%s is not available: %v", one.Metadata.Name, c)
		}
	}
}

// TestProfiling: administrators may profile the server, unless that is turned off, and nobody else may.
func TestProfiling(t *testing.T) {
	t.Parallel()
	on := start(t, tokens(t, "t-ann,ann,2\n"))
	off := start(t, func(o *options.Options) { o.Profiling = false })
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile: total", "/debug/pprof/heap": "", "/debug/pprof/symbol": "num_symbols: 1",
		"/statusz": "\napiserver statusz\n", "/flagz": "\nprofiling: true\n",
	} {
		if res, body := ask(t, on.httpClient(t), "GET", on.URL+path, nil); res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
		if res, body := ask(t, on.anyone(t), "GET", on.URL+path, nil, "Authorization: Bearer t-ann"); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s for somebody: %s %s", path, res.Status, body)
		}
		res, body := ask(t, off.httpClient(t), "GET", off.URL+path, nil)
		switch {
		case strings.HasPrefix(path, "/debug") && res.StatusCode != http.StatusNotFound:
			t.Errorf("%s without profiling: %s %s", path, res.Status, body)
		case path == "/flagz" && !strings.Contains(string(body), "\nprofiling: false\n"):
			t.Errorf("%s", body)
		}
	}
	if res, _ := ask(t, on.httpClient(t), "GET", on.URL+"/debug/pprof/none", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a profile that there is not: %s", res.Status)
	}
}
