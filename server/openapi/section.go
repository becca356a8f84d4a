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

// V3 describes the section in OpenAPI v3. Of built-in definitions it has the names alone.
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

// V2 describes the section in OpenAPI v2. Of built-in definitions it has the names alone.
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
	// Clients of v2 take a default for something that they have to send.
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

func (s Section) container() []common.RouteContainer {
	return []common.RouteContainer{operation.Below{Root: s.Root, List: s.Operations}}
}

// definitions are the section's own, and of the built-in ones that these and the operations lead to what those lead to.
// Builders look at no more of them, and a document has them out of the embedded file.
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

// definitionName leaves names as they are: definitions come with their names and extensions.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

func operationIDAndTags(r common.Route) (string, []string, error) {
	return r.OperationName(), r.(*operation.Operation).Tags, nil
}
