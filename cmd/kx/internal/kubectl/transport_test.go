package kubectl

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// TestTimeIsUp: when a request's time is up, http.Client cancels it as here, and nothing warns that this can't be done.
func TestTimeIsUp(t *testing.T) {
	var said strings.Builder
	defer klog.CaptureState().Restore()
	klog.LogToStderr(false)
	klog.SetOutput(&said)

	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "kx"}
	client, err := rest.HTTPClientFor(newWiring(t.TempDir(), Streams{ErrOut: io.Discard}).wrapConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, config.Host, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	type canceler interface{ CancelRequest(*http.Request) }
	client.Transport.(canceler).CancelRequest(req)
	// The cache of discovery wraps this transport itself.
	config.WrapTransport(http.DefaultTransport).(canceler).CancelRequest(req)
	klog.Flush()
	if said.Len() > 0 {
		t.Errorf("said: %s", &said)
	}
}

// TestAtBehindPrefix reads at a time from a server whose paths have a prefix, as behind a proxy.
func TestAtBehindPrefix(t *testing.T) {
	t.Parallel()
	const prefix = "/api-gateway/c1"
	answers := map[string]string{
		prefix + "/apis/kx.dev/v1alpha1/moments/5m": `{"status": {"revision": 7}}`,
		prefix + "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=7&resourceVersionMatch=Exact": `
			{"kind": "ConfigMapList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		answer, ok := answers[req.URL.String()]
		if !ok {
			t.Errorf("the server was asked for %s", req.URL)
			http.NotFound(res, req)
			return
		}
		_, _ = io.WriteString(res, answer)
	}))
	defer server.Close()
	w := newWiring(t.TempDir(), Streams{ErrOut: io.Discard})
	w.at.revision = "-5m"
	if err := w.at.check(); err != nil {
		t.Fatal(err)
	}
	config := w.wrapConfig(&rest.Config{Host: server.URL + prefix})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Get(config.Host + "/api/v1/namespaces/default/configmaps/a")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || string(data) != `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}` {
		t.Errorf("%s, %v", data, err)
	}
}
