//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// rawRegister asks by plain HTTP: paths, JSON, and nothing of client-go's but TLS.
type rawRegister struct {
	kind
	host   string
	client *http.Client
}

func (r rawRegister) of() kind { return r.kind }

// url is the path of an object, or of all in a namespace, or of all.
func (r rawRegister) url(ns, name string, query url.Values) string {
	root := "/api/"
	if r.resource.Group != "" {
		root = "/apis/" + r.resource.Group + "/"
	}
	path := r.host + root + r.resource.Version
	if ns != "" {
		path += "/namespaces/" + ns
	}
	path += "/" + r.resource.Resource
	if name != "" {
		path += "/" + name
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

func (r rawRegister) do(ctx context.Context, method, url, contentType string, body any) (*http.Response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	res, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, statusError(res)
}

func statusError(res *http.Response) error {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s, and no more: %w", res.Status, err)
	}
	var status metav1.Status
	if json.Unmarshal(data, &status) != nil || status.Kind != "Status" {
		return fmt.Errorf("%s: %q", res.Status, data)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func (r rawRegister) ask(ctx context.Context, method, url, contentType string, body any) ([]byte, error) {
	res, err := r.do(ctx, method, url, contentType, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s was cut off: %w", res.Status, err)
	}
	return data, nil
}

func (r rawRegister) decoded(data []byte, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return unstructuredOf(data)
}

func (r rawRegister) get(ctx context.Context, ns, name, version string) (runtime.Object, error) {
	query := url.Values{}
	if version != "" {
		query.Set("resourceVersion", version)
	}
	return r.decoded(r.ask(ctx, "GET", r.url(ns, name, query), "", nil))
}

func (r rawRegister) create(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.decoded(r.ask(ctx, "POST", r.url(ns, "", nil), runtime.ContentTypeJSON, r.object(ns, name, value)))
}

func (r rawRegister) update(ctx context.Context, ns, name, value, version string) (runtime.Object, error) {
	u := r.object(ns, name, value)
	u.SetResourceVersion(version)
	return r.decoded(r.ask(ctx, "PUT", r.url(ns, name, nil), runtime.ContentTypeJSON, u))
}

func (r rawRegister) patch(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	return r.decoded(r.ask(ctx, "PATCH", r.url(ns, name, nil), string(types.MergePatchType), json.RawMessage(r.mergePatch(value))))
}

func (r rawRegister) apply(ctx context.Context, ns, name, value string) (runtime.Object, error) {
	query := url.Values{"fieldManager": {fieldManager}, "force": {"true"}}
	return r.decoded(r.ask(ctx, "PATCH", r.url(ns, name, query), string(types.ApplyYAMLPatchType), r.object(ns, name, value)))
}

func (r rawRegister) remove(ctx context.Context, ns, name, version string) error {
	_, err := r.ask(ctx, "DELETE", r.url(ns, name, nil), runtime.ContentTypeJSON, deleteOptions(version))
	return err
}

func (r rawRegister) list(ctx context.Context, ns string, options metav1.ListOptions) (runtime.Object, error) {
	query, err := scheme.ParameterCodec.EncodeParameters(&options, configMaps.resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	data, err := r.ask(ctx, "GET", r.url(ns, "", query), "", nil)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	return list, list.UnmarshalJSON(data)
}

func (r rawRegister) watch(ctx context.Context, ns string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	query, err := scheme.ParameterCodec.EncodeParameters(&options, configMaps.resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	res, err := r.do(ctx, "GET", r.url(ns, "", query), "", nil)
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&lines{json.NewDecoder(res.Body), res.Body}, noReporter{}), nil
}

// lines decodes a watch of JSON objects.
type lines struct {
	*json.Decoder
	body io.ReadCloser
}

func (l *lines) Decode() (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := l.Decoder.Decode(&event); err != nil {
		return "", nil, io.EOF // cut off, as watches end
	}
	if event.Type == watch.Error {
		status := &metav1.Status{}
		return event.Type, status, json.Unmarshal(event.Object, status)
	}
	u, err := unstructuredOf(event.Object)
	return event.Type, u, err
}

func (l *lines) Close() { _ = l.body.Close() }

// noReporter is for a stream whose errors are its end.
type noReporter struct{}

func (noReporter) AsObject(err error) runtime.Object {
	status := apierrors.NewInternalError(err).Status()
	return &status
}
