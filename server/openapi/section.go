package openapi

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi/operation"
)

const (
	title        = "Kubernetes"
	unauthorized = "Unauthorized"
	bearerToken  = "BearerToken"
)

// Section is what is described together: operations below one root path.
type Section struct {
	Info       spec.Info
	GV         schema.GroupVersion
	Root       string
	Operations []*operation.Operation
	// Definitions are those that the operations need beside the built-in ones, of which they may refer to all.
	Definitions map[string]common.OpenAPIDefinition
	// Secured says in v3 that requests carry a token. v2 says it once, for the whole document.
	Secured bool
}

// V3 describes the section in OpenAPI v3. It holds parts of the built-in definitions: nobody may change it.
func (s Section) V3() (*spec3.OpenAPI, error) {
	config := &common.OpenAPIV3Config{
		Info: &s.Info,
		CommonResponses: map[int]*spec3.Response{
			401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
		},
		Definitions:                    s.definitions(v3Definitions()),
		GetDefinitionName:              definitionName,
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
	}
	if s.Secured {
		config.SecuritySchemes = spec3.SecuritySchemes{bearerToken: {SecuritySchemeProps: spec3.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication"}}}
	}
	document, err := builder3.BuildOpenAPISpecFromRoutes(s.container(), config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v3 of %s: %w", s.Root, err)
	}
	return document, nil
}

// V2 describes the section in OpenAPI v2. It holds parts of the built-in definitions: nobody may change it.
func (s Section) V2() (*spec.Swagger, error) {
	config := &common.Config{
		ProtocolList:    []string{"https"},
		Info:            &s.Info,
		CommonResponses: map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: unauthorized}}},
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			return s.definitions(v2Definitions())
		},
		GetDefinitionName:              definitionName,
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
	}
	document, err := builder.BuildOpenAPISpecFromRoutes(s.container(), config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v2 of %s: %w", s.Root, err)
	}
	// Clients of v2 take a default for something that they have to send.
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

func (s Section) container() []common.RouteContainer {
	return []common.RouteContainer{operation.Below{Root: s.Root, List: s.Operations}}
}

// definitions are the section's own and the built-in ones, copied as far as a builder writes to them, which is their
// extensions.
func (s Section) definitions(builtin map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	definitions := maps.Clone(builtin)
	for name, d := range definitions {
		if kind, ok := everywhere[name]; ok {
			d.Schema = ofEach(d.Schema, kind, []schema.GroupVersion{s.GV})
		} else {
			d.Schema.Extensions = maps.Clone(d.Schema.Extensions)
		}
		definitions[name] = d
	}
	maps.Copy(definitions, s.Definitions)
	return definitions
}

// definitionName leaves names as they are: definitions come with their names and extensions.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

func operationIDAndTags(r common.Route) (string, []string, error) {
	return r.OperationName(), r.(*operation.Operation).Tags, nil
}
