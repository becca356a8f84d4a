package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// lesson makes a lesson from a journey.
func (s *journeySource) lesson(ctx context.Context, id, file string, steps []string, in io.Reader) ([]byte, error) {
	j, err := s.journey(ctx, id, in)
	if err != nil {
		return nil, err
	}
	text, err := learn.From(j, s.stored(ctx, j), file, steps)
	return []byte(text), err
}

const (
	// storedWait limits the time to read an object's current state.
	storedWait = 10 * time.Second
	// storedMost limits the bytes of such an object in a lesson.
	storedMost = 16 << 10
)

// stored reads the current state of a request's object. It returns nil if there is none, and for objects that do not
// belong into a lesson: a Secret, or an object that fills pages.
func (s *journeySource) stored(ctx context.Context, j *v1alpha1.Journey) []byte {
	if s.file != "" || j.Spec.Name == "" || j.Spec.Resource == "secrets" {
		return nil
	}
	config, err := s.server()
	if err != nil {
		return nil
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, storedWait)
	defer cancel()
	path, _, _ := strings.Cut(j.Spec.URI, "?")
	object := strings.TrimSuffix(config.Host, "/") + strings.TrimSuffix(path, "/"+j.Spec.Subresource)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, object, nil)
	if err != nil {
		return nil
	}
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, storedMost+1))
	if err != nil || res.StatusCode != http.StatusOK || len(data) > storedMost {
		return nil
	}
	return data
}
