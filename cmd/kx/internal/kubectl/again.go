package kubectl

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
)

// retryNotice reports on a terminal, once in a command, that client-go repeats a request at the server's demand.
// client-go does so silently, up to ten times.
type retryNotice struct{ said atomic.Bool }

// see inspects an answer, and does not change it.
func (a *retryNotice) see(w *wiring, req *http.Request, res *http.Response) error {
	after := res.Header.Get("Retry-After")
	busy := res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError
	if after == "" || !busy || !render.IsTerminal(w.streams.ErrOut) || a.said.Swap(true) {
		return nil
	}
	data, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	why := res.Status
	var status metav1.Status
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, &status); err == nil && status.Message != "" {
		why = status.Message
	}
	w.say(fmt.Sprintf("the server asks to repeat %s %s after %ss (up to ten times): %s", req.Method, req.URL.Path, after, why))
	return nil
}
