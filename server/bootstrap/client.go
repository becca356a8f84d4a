package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/store"
)

// client sends requests to the server's own handlers, without a socket and the filters.
type client struct {
	handler http.Handler
	infos   *request.RequestInfoFactory
}

func newClient(handler http.Handler) *client {
	return &client{handler,
		&request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}}
}

// manager is the field manager of this package's writes.
const manager = "kube-apiserver"

func (c *client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, into)
}

func (c *client) create(ctx context.Context, path string, obj any) error {
	return c.do(ctx, http.MethodPost, path, "application/json", obj, nil)
}

func (c *client) update(ctx context.Context, path string, obj any) error {
	return c.do(ctx, http.MethodPut, path, "application/json", obj, nil)
}

func (c *client) remove(ctx context.Context, path string) error {
	return c.do(ctx, http.MethodDelete, path, "", nil, nil)
}

// do sends one request. It returns an unsuccessful answer as an error of the API.
func (c *client) do(ctx context.Context, method, path, contentType string, body, into any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, path, &sent)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("User-Agent", manager)
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	info, err := c.infos.NewRequestInfo(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	ctx = request.WithUser(store.WithAside(ctx),
		&user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}})
	ctx = request.WithRequestInfo(ctx, info)
	w := &answer{header: http.Header{}}
	c.handler.ServeHTTP(w, req.WithContext(ctx))
	if w.code >= http.StatusMultipleChoices {
		return w.failure(method, path)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(w.body.Bytes(), into)
}

// answer records a handler's response.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header  { return w.header }
func (w *answer) WriteHeader(code int) { w.code = code }

func (w *answer) Write(data []byte) (int, error) { return w.body.Write(data) }

func (w *answer) failure(method, path string) error {
	status := metav1.Status{}
	if err := json.Unmarshal(w.body.Bytes(), &status); err != nil || status.Kind != "Status" {
		status = metav1.Status{Status: metav1.StatusFailure, Code: int32(w.code), Message: strings.TrimSpace(w.body.String())}
		if w.code == http.StatusNotFound {
			status.Reason = metav1.StatusReasonNotFound
		}
	}
	return fmt.Errorf("%s %s: %w", method, path, &apierrors.StatusError{ErrStatus: status})
}
