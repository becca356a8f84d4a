package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/version"
)

const (
	kind        = "Widget"
	plural      = "widgets"
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	namespaces  = "/api/v1/namespaces"
)

// place holds the names of a run's own group and namespace.
type place struct {
	group, namespace string
	// hasNamespace is set if the server has namespaces. Upstream's extensions server, run alone, lacks them and does
	// not need them.
	hasNamespace bool
}

func newPlace() *place {
	id := rand.String(6)
	return &place{group: id + ".bench.kx.dev", namespace: "kx-bench-" + id}
}

func (p *place) apiVersion() string { return p.group + "/v1" }
func (p *place) definition() string { return definitions + "/" + plural + "." + p.group }
func (p *place) collection() string {
	return "/apis/" + p.group + "/v1/namespaces/" + p.namespace + "/" + plural
}

// setUp creates the definition and the namespace, and waits until objects are served.
func (p *place) setUp(ctx context.Context, c *client) error {
	if err := c.object(ctx, http.MethodPost, definitions, p.crd(), nil); err != nil {
		return fmt.Errorf("create the CustomResourceDefinition: %w", err)
	}
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	err := c.object(ctx, http.MethodPost, namespaces, namespace, nil)
	if err == nil {
		p.hasNamespace = true
	} else if !isCode(err, http.StatusNotFound) {
		return fmt.Errorf("create the namespace: %w", err)
	}
	return until(ctx, "the custom resource to be served", func() error {
		return c.object(ctx, http.MethodGet, p.collection()+"?limit=1", nil, nil)
	})
}

// tearDown deletes the definition and the namespace, and waits until they are gone.
func (p *place) tearDown(ctx context.Context, c *client) error {
	var errs []error
	remove := func(path string) {
		err := c.object(ctx, http.MethodDelete, path, nil, nil)
		if err != nil && !isCode(err, http.StatusNotFound) {
			errs = append(errs, fmt.Errorf("clean up: %w", err))
		}
	}
	remove(p.definition())
	if p.hasNamespace {
		remove(namespaces + "/" + p.namespace)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return until(ctx, "the CustomResourceDefinition "+plural+"."+p.group+" to be gone", func() error {
		switch err := c.object(ctx, http.MethodGet, p.definition(), nil, nil); {
		case err == nil:
			return errors.New("it is still there")
		case isCode(err, http.StatusNotFound):
			return nil
		default:
			return err
		}
	})
}

// until calls try repeatedly until it succeeds.
func until(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %w)", what, context.Cause(ctx), err)
		}
	}
}

func isCode(err error, code int) bool {
	var f *answerError
	return errors.As(err, &f) && f.code == code
}

func (p *place) crd() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	listType := "map"
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"number": {Type: "integer", Minimum: new(float64)}, "round": text, "sent": text,
		"text0": text, "text1": text, "text2": text, "text3": text,
		"env": {Type: "array", XListType: &listType, XListMapKeys: []string{"name"},
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
				Required:   []string{"name"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text, "value": text}}}},
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + p.group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: p.group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: "widget", Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Round", Type: "string", JSONPath: ".spec.round"}, {Name: "Number", Type: "integer", JSONPath: ".spec.number"},
					{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}},
			}},
		},
	}
}

// serverVersion asks for the server's version, for the record. It is the first request: if the server can't be reached,
// the run ends before anything is created.
func serverVersion(ctx context.Context, c *client) (string, error) {
	var info version.Info
	err := c.object(ctx, http.MethodGet, "/version", nil, &info)
	var refused *answerError
	if err != nil && !errors.As(err, &refused) {
		return "", fmt.Errorf("ask the server for its version: %w", err)
	}
	return info.GitVersion, nil
}

// revisionOf asks for the collection's resourceVersion.
func revisionOf(ctx context.Context, c *client, collection string) (string, error) {
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    json.RawMessage `json:"items"`
	}
	err := c.object(ctx, http.MethodGet, collection+"?limit=1", nil, &list)
	return list.Metadata.ResourceVersion, err
}
