package exchange

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/send/schema"
)

// bytesMost limits an answer.
const bytesMost = 32 << 20

// NamesMost limits the requested names.
const NamesMost = 200

// Resources returns the server's resources: the core group and all others.
func Resources(ctx context.Context, c *api.Client) (*request.Resources, error) {
	var answers [][]byte
	for _, path := range []string{"/api", "/apis"} {
		data, err := getDocument(ctx, c, path, request.Discovery)
		if err != nil {
			return nil, fmt.Errorf("ask what the server has: %w", err)
		}
		answers = append(answers, data)
	}
	return request.ReadDiscovery(answers...)
}

// Schemas returns the schemas of a group and version.
func Schemas(ctx context.Context, c *api.Client, group, version string) (*schema.Document, error) {
	path := "/openapi/v3/api/" + version
	if group != "" {
		path = "/openapi/v3/apis/" + group + "/" + version
	}
	data, err := getDocument(ctx, c, path, "application/json")
	if err != nil {
		return nil, fmt.Errorf("ask for the schemas: %w", err)
	}
	return schema.Read(data)
}

// ObjectNames returns the names of a collection's objects, the first NamesMost of them.
func ObjectNames(ctx context.Context, c *api.Client, path string) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	err := c.JSON(ctx, api.Request{
		Path: path, Query: url.Values{"limit": {strconv.Itoa(NamesMost)}},
		Header: header("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"),
	}, &list)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

func header(accept string) http.Header { return http.Header{"Accept": {accept}, "Kx-Trace": {"off"}} }

func getDocument(ctx context.Context, c *api.Client, path, accept string) ([]byte, error) {
	res, err := c.Send(ctx, api.Request{Path: path, Header: header(accept)})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, bytesMost+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", path, err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET %s: the server answered %s", path, res.Status)
	case len(data) > bytesMost:
		return nil, fmt.Errorf("GET %s: the answer has more than %d bytes", path, bytesMost)
	}
	return data, nil
}
