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

// Section describes the operations below one root path.
type Section struct {
	Info       spec.Info
	GV         schema.GroupVersion
	Root       string
	Operations []*operation.Operation
	// Definitions holds the definitions that the operations need apart from the built-in ones. They may refer to any
	// built-in one.
	Definitions map[string]common.OpenAPIDefinition
	// Secured is true if v3 declares that requests carry a token. v2 declares it once, for the whole document.
	Secured bool
}

// V3 describes the section in OpenAPI v3. Of built-in definitions it contains only the names.
func (s Section) V3() (*spec3.OpenAPI, error) {
	config := &common.OpenAPIV3Config{
		Info: &s.Info,
		CommonResponses: map[int]*spec3.Response{
			401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
		},
		Definitions:                    s.definitions(),
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

// V2 describes the section in OpenAPI v2. Of built-in definitions it contains only the names.
func (s Section) V2() (*spec.Swagger, error) {
	config := &common.Config{
		ProtocolList:    []string{"https"},
		Info:            &s.Info,
		CommonResponses: map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: unauthorized}}},
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			return s.definitions()
		},
		GetDefinitionName:              definitionName,
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
	}
	document, err := builder.BuildOpenAPISpecFromRoutes(s.container(), config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v2 of %s: %w", s.Root, err)
	}
	// Clients of v2 would send a default explicitly.
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

func (s Section) container() []common.RouteContainer {
	return []common.RouteContainer{operation.Group{Root: s.Root, List: s.Operations}}
}

// definitions returns the section's own definitions. It adds the built-in ones that these and the operations refer to,
// with their references only: builders look at nothing else, and a document copies them from the embedded file.
func (s Section) definitions() map[string]common.OpenAPIDefinition {
	definitions := map[string]common.OpenAPIDefinition{}
	maps.Copy(definitions, s.Definitions)
	add := func(names ...string) {
		walk(names, func(name string) bool { _, there := definitions[name]; return there },
			func(name string, d definition) {
				definitions[name] = common.OpenAPIDefinition{Dependencies: d.dependencies}
			})
	}
	for _, d := range s.Definitions {
		add(d.Dependencies...)
	}
	for _, o := range s.Operations {
		add(string(o.Body), string(o.Answer))
	}
	return definitions
}

// definitionName keeps names as they are: definitions come with their names and extensions.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

func operationIDAndTags(r common.Route) (string, []string, error) {
	return r.OperationName(), r.(*operation.Operation).Tags, nil
}
