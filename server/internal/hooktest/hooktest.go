package hooktest

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Webhook is a running webhook.
type Webhook struct {
	Server *httptest.Server

	mu sync.Mutex
	// calls counts how often each path was asked, and last is the latest review, as it came.
	calls map[string]int
	last  []byte
	// shown has the Authorization header of the latest review, by path.
	shown map[string]string
	// lies answer in the place of a path.
	lies map[string]Lie
	// connections are the addresses from which it was asked.
	connections map[string]bool
	// GaveUp gets a value when a client no longer waits for an answer of the path /slow.
	GaveUp chan struct{}
}

// Lie is what a test has the webhook answer to a review. What it makes of the good answer is sent, unless it says that
// it has answered.
type Lie func(w http.ResponseWriter, r *http.Request, answer *admissionv1.AdmissionReview) (answered bool)

// Lie has a path answer so from now on.
func (w *Webhook) Lie(path string, lie Lie) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lies[path] = lie
}

// Patched has a path patch the object.
func (w *Webhook) Patched(path, operations string) {
	w.Lie(path, func(_ http.ResponseWriter, _ *http.Request, answer *admissionv1.AdmissionReview) bool {
		patch(operations)(answer, nil)
		return false
	})
}

// New starts a webhook that ends with the test.
func New(t testing.TB) *Webhook {
	t.Helper()
	w := &Webhook{calls: map[string]int{}, shown: map[string]string{}, connections: map[string]bool{}, lies: map[string]Lie{},
		GaveUp: make(chan struct{}, 100)}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	w.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that give up are part of tests
	w.Server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	w.Server.StartTLS()
	t.Cleanup(w.Server.Close)
	return w
}

// certificate is for 127.0.0.1, and for the service hook in the namespace default.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"hook.default.svc"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// CA is the authority that signed the certificate, in PEM.
func (w *Webhook) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Server.Certificate().Raw})
}

// Calls is how often a path was asked.
func (w *Webhook) Calls(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[path]
}

// Shown is what who asked a path last was authorized by.
func (w *Webhook) Shown(path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown[path]
}

// Connections is how many connections were used.
func (w *Webhook) Connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.connections)
}

// serve answers a review, and GET /last with the latest one.
func (w *Webhook) serve(rw http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		w.mu.Lock()
		defer w.mu.Unlock()
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(w.last)
		return
	}
	body, err := io.ReadAll(req.Body)
	review := &admissionv1.AdmissionReview{}
	if err == nil {
		err = json.Unmarshal(body, review)
	}
	if err != nil || review.Request == nil {
		http.Error(rw, fmt.Sprintf("no AdmissionReview: %v", err), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.calls[req.URL.Path]++
	w.last = body
	w.shown[req.URL.Path] = req.Header.Get("Authorization")
	w.connections[req.RemoteAddr] = true
	lie := w.lies[req.URL.Path]
	w.mu.Unlock()
	scene := strings.TrimPrefix(req.URL.Path, "/")
	if raw := raws[scene]; raw != nil {
		raw(rw, req)
		if scene == "slow" {
			w.GaveUp <- struct{}{}
		}
		return
	}
	request := review.Request
	review.Request, review.Response = nil, &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if lie != nil {
		if lie(rw, req, review) {
			return
		}
	} else if answer := answers[scene]; answer != nil {
		answer(review, request)
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(review) // a client may have gone
}

// raws are the scenes that are no reviews.
var raws = map[string]http.HandlerFunc{
	"garbage":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") },
	"empty":       func(http.ResponseWriter, *http.Request) {},
	"slow":        func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"slow-ignore": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/label", http.StatusTemporaryRedirect)
	},
	"broken": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "hidden words", http.StatusInternalServerError)
	},
	"endless": func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, "{")
		for spaces := []byte(strings.Repeat(" ", 1<<20)); err == nil; {
			_, err = w.Write(spaces)
		}
	},
	"bomb": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb()) // a client may have gone
	},
}

// bomb returns a few kilobytes that unpack to more than a server reads. They are packed once: a slow machine takes
// seconds for it, and calls have a timeout.
var bomb = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	_, err := io.WriteString(packed, `{"kind":"`+strings.Repeat("0", 4<<20))
	if err = errors.Join(err, packed.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
})

// patch makes the answer one with a JSON patch.
func patch(operations string) func(*admissionv1.AdmissionReview, *admissionv1.AdmissionRequest) {
	return func(review *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		kind := admissionv1.PatchTypeJSONPatch
		review.Response.Patch, review.Response.PatchType = []byte(operations), &kind
	}
}

// deny makes the answer a refusal.
func deny(status *metav1.Status) func(*admissionv1.AdmissionReview, *admissionv1.AdmissionRequest) {
	return func(review *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		review.Response.Allowed, review.Response.Result = false, status
	}
}

// answers are what the scenes make of an answer that allows the write.
var answers = map[string]func(*admissionv1.AdmissionReview, *admissionv1.AdmissionRequest){
	"label":         patch(`[{"op":"add","path":"/metadata/labels/team","value":"blue"},{"op":"add","path":"/metadata/annotations","value":{"by":"webhook"}}]`),
	"second":        patch(`[{"op":"test","path":"/metadata/labels/team","value":"blue"},{"op":"add","path":"/metadata/labels/second","value":"yes"}]`),
	"no-op":         patch(`[]`),
	"missing-path":  patch(`[{"op":"replace","path":"/spec/nothing","value":1}]`),
	"undecodable":   patch(`{"op":`),
	"unknown-op":    patch(`[{"op":"jump","path":"/metadata"}]`),
	"wrong-type":    patch(`[{"op":"add","path":"/data","value":5}]`),
	"uid":           patch(`[{"op":"replace","path":"/metadata/uid","value":"11111111-2222-3333-4444-555555555555"}]`),
	"set-uid":       patch(`[{"op":"add","path":"/metadata/uid","value":"x"}]`),
	"name":          patch(`[{"op":"replace","path":"/metadata/name","value":"other"}]`),
	"namespace":     patch(`[{"op":"replace","path":"/metadata/namespace","value":"other"}]`),
	"invalid":       patch(`[{"op":"add","path":"/metadata/labels/team","value":"not a label!"}]`),
	"maximum":       patch(`[{"op":"replace","path":"/spec/maxReplicas","value":7}]`),
	"custom":        patch(`[{"op":"add","path":"/spec/unknown","value":1},{"op":"remove","path":"/spec/size"},{"op":"add","path":"/metadata/labels/team","value":"blue"}]`),
	"secret":        patch(`[{"op":"add","path":"/data/added","value":"d2ViaG9vaw=="}]`),
	"container":     patch(`[{"op":"add","path":"/spec/containers/-","value":{"name":"sidecar","image":"sidecar"}}]`),
	"deny":          deny(&metav1.Status{Message: "not in this house", Reason: metav1.StatusReasonForbidden, Code: 403}),
	"deny-mutating": deny(&metav1.Status{Message: "not even changed"}),
	"deny-silent":   deny(nil),
	"deny-reason":   deny(&metav1.Status{Reason: "Whim"}),
	"deny-code": deny(&metav1.Status{Message: "tea only", Code: 418,
		Details: &metav1.StatusDetails{Name: "pot", Causes: []metav1.StatusCause{{Message: "no coffee", Field: "spec.drink"}}}}),
	"deny-as-success": deny(&metav1.Status{Status: metav1.StatusSuccess, Message: "fine", Code: 200}),
	"deny-delete":     deny(&metav1.Status{Message: "it stays"}),
	"deny-large-code": deny(&metav1.Status{Message: "beyond", Code: 70000}),
	"escape":          deny(&metav1.Status{Message: "red \x1b[31m text"}),
	"patch-delete":    patch(`[{"op":"add","path":"/metadata","value":{}}]`),
	"validator-patch": patch(`[{"op":"add","path":"/metadata/labels/team","value":"blue"}]`),
	"wrong-uid":       func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) { r.Response.UID = "z" },
	"wrong-version": func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		r.APIVersion = "admission.k8s.io/v1beta1"
	},
	"wrong-kind":    func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) { r.Kind = "Review" },
	"absent":        func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) { r.Response = nil },
	"no-patch-type": func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) { r.Response.Patch = []byte(`[]`) },
	"no-patch": func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		kind := admissionv1.PatchTypeJSONPatch
		r.Response.PatchType = &kind
	},
	"warn": func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		r.Response.Warnings = []string{"this will end", "badly"}
		r.Response.AuditAnnotations = map[string]string{"seen": "yes"}
	},
	"warn-deny": func(r *admissionv1.AdmissionReview, _ *admissionv1.AdmissionRequest) {
		r.Response.Allowed, r.Response.Warnings = false, []string{"and more"}
	},
	"count": func(r *admissionv1.AdmissionReview, request *admissionv1.AdmissionRequest) {
		obj := &unstructured.Unstructured{}
		if json.Unmarshal(request.Object.Raw, &obj.Object) != nil {
			return
		}
		count := len(obj.GetAnnotations()["count"]) + 1
		patch(fmt.Sprintf(`[{"op":"add","path":"/metadata/annotations","value":{"count":%q}}]`, strings.Repeat("i", count)))(r, request)
	},
}
