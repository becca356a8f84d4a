package peertest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Webhook is an HTTPS server with its own certificate. It answers ConversionReviews by a function from object to
// object, records its calls, and can misbehave. mu guards calls, spoil and reply.
type Webhook struct {
	// Server is its HTTPS server. Close it to make the webhook unreachable.
	Server  *httptest.Server
	convert func(obj *unstructured.Unstructured, to string) error

	mu    sync.Mutex
	calls []Call
	spoil func(*apiextensionsv1.ConversionReview)
	reply http.HandlerFunc
}

// Call is one call of a webhook.
type Call struct {
	Objects int
	To      string
}

// NewWebhook starts a webhook that ends with the test. convert changes an object that already has the wanted
// apiVersion.
func NewWebhook(t testing.TB, convert func(obj *unstructured.Unstructured, to string) error) *Webhook {
	t.Helper()
	w := &Webhook{convert: convert}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	w.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that don't trust it are part of tests
	w.Server.StartTLS()
	t.Cleanup(w.Server.Close)
	return w
}

// ClientConfig returns the webhook's address for a CRD.
func (w *Webhook) ClientConfig() *apiextensionsv1.WebhookClientConfig {
	url := w.Server.URL + "/convert"
	return &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: w.Server.Certificate().Raw,
	})}
}

// Calls returns the calls since the last time, and forgets them.
func (w *Webhook) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// Spoil makes the webhook pass each good answer to f before sending it. nil ends that.
func (w *Webhook) Spoil(f func(*apiextensionsv1.ConversionReview)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spoil = f
}

// Reply makes f answer in the webhook's place. nil ends that.
func (w *Webhook) Reply(f http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply = f
}

func (w *Webhook) serve(rw http.ResponseWriter, req *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(req.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(rw, fmt.Sprintf("no ConversionReview: %v", err), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.calls = append(w.calls, Call{len(review.Request.Objects), review.Request.DesiredAPIVersion})
	spoil, reply := w.spoil, w.reply
	w.mu.Unlock()
	if reply != nil {
		reply(rw, req)
		return
	}
	w.answer(review)
	if spoil != nil {
		spoil(review)
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(review); err != nil {
		panic(err)
	}
}

// answer turns the request into its answer.
func (w *Webhook) answer(review *apiextensionsv1.ConversionReview) {
	request := review.Request
	review.Request = nil
	review.Response = &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range request.Objects {
		obj := &unstructured.Unstructured{}
		err := obj.UnmarshalJSON(raw.Raw)
		if err == nil {
			obj.SetAPIVersion(request.DesiredAPIVersion)
			err = w.convert(obj, request.DesiredAPIVersion)
		}
		if err != nil {
			review.Response.ConvertedObjects = nil
			review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: obj})
	}
}
