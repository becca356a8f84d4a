package kubectl

import (
	"io"
	"net/http"
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
