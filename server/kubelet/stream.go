package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
)

// LocationStreamer answers a GET with the body of a URL.
type LocationStreamer struct {
	// To is nil if there is nothing to read.
	To *Location
	// Flush sends each piece to the client at once.
	Flush bool
	// Resource and Name identify the object in errors.
	Resource schema.GroupResource
	Name     string
}

var _ rest.ResourceStreamer = &LocationStreamer{}

// GetObjectKind makes a LocationStreamer a runtime.Object. It has no kind.
func (*LocationStreamer) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns s itself, which never changes.
func (s *LocationStreamer) DeepCopyObject() runtime.Object { return s }

// InputStream requests the URL.
func (s *LocationStreamer) InputStream(ctx context.Context, _, _ string) (io.ReadCloser, bool, string, error) {
	if s.To == nil {
		return nil, false, "", nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.To.String(), http.NoBody)
	if err != nil {
		return nil, false, "", fmt.Errorf("failed to construct request for %s, got %w", s.To, err)
	}
	// Following a redirect would show the server's client certificate to another host.
	client := &http.Client{Transport: s.To.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("redirects forbidden")
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, false, "", err
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode > http.StatusPartialContent {
		defer resp.Body.Close()
		return nil, false, "", s.refusal(resp)
	}
	return resp.Body, s.Flush, "text/plain", nil
}

// refusalMost limits the part of a refusal that the client gets.
const refusalMost = 50_000

// refusal returns the error for an answer that is not the stream.
func (s *LocationStreamer) refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, refusalMost))
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return &nodeRefusal{code: resp.StatusCode, StatusError: s.statusOf(resp.StatusCode, string(text))}
}

func (s *LocationStreamer) statusOf(code int, text string) *apierrors.StatusError {
	switch code {
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(errors.New(text))
	case http.StatusBadRequest:
		return apierrors.NewBadRequest(text)
	}
	return apierrors.NewGenericServerResponse(code, "", s.Resource, s.Name, text, 0, false)
}

// nodeRefusal is the error for a node's refusal. The client gets the node's text; journeys and logs get only
// the code.
type nodeRefusal struct {
	*apierrors.StatusError
	code int
}

func (e *nodeRefusal) Error() string {
	return fmt.Sprintf("masked: the node answered %d in its own words", e.code)
}

func (e *nodeRefusal) Unwrap() error { return e.StatusError }
