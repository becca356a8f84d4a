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
)

const (
	title        = "Kubernetes"
	unauthorized = "Unauthorized"
	bearerToken  = "BearerToken"
)

// section is what one root path serves, described in either version when asked.
type section struct {
	info   spec.Info
	gv     schema.GroupVersion
	root   string
	routes func() []*route
}

func (s section) v3() (*spec3.OpenAPI, error) {
	config := &common.OpenAPIV3Config{
		Info: &s.info,
		CommonResponses: map[int]*spec3.Response{
			401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
		},
		SecuritySchemes: spec3.SecuritySchemes{bearerToken: {SecuritySchemeProps: spec3.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication"}}},
		Definitions:                    definitionsFor(v3Definitions(), s.gv),
		GetDefinitionName:              definitionName,
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
	}
	document, err := builder3.BuildOpenAPISpecFromRoutes([]common.RouteContainer{routes{s.root, s.routes()}}, config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v3 of %s: %w", s.root, err)
	}
	return document, nil
}

func (s section) v2() (*spec.Swagger, error) {
	config := &common.Config{
		ProtocolList:    []string{"https"},
		Info:            &s.info,
		CommonResponses: map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: unauthorized}}},
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			return definitionsFor(v2Definitions(), s.gv)
		},
		GetDefinitionName:              definitionName,
		GetOperationIDAndTagsFromRoute: operationIDAndTags,
		SecurityDefinitions: &spec.SecurityDefinitions{bearerToken: {SecuritySchemeProps: spec.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication"}}},
		DefaultSecurity: []map[string][]string{{bearerToken: {}}},
	}
	document, err := builder.BuildOpenAPISpecFromRoutes([]common.RouteContainer{routes{s.root, s.routes()}}, config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v2 of %s: %w", s.root, err)
	}
	// Clients of v2 take a default for something that they have to send.
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

// definitionName leaves names as they are: definitions come with their names and extensions.
func definitionName(name string) (string, spec.Extensions) { return name, nil }

func operationIDAndTags(r common.Route) (string, []string, error) {
	return r.OperationName(), r.(*route).tags, nil
}

// mergeV2 makes one document of those of the sections, which share their definitions of common types.
func mergeV2(info spec.Info, parts []*spec.Swagger, gvs []schema.GroupVersion) *spec.Swagger {
	merged := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:             "2.0",
		Info:                &info,
		Paths:               &spec.Paths{Paths: map[string]spec.PathItem{}},
		Definitions:         spec.Definitions{},
		Parameters:          map[string]spec.Parameter{},
		SecurityDefinitions: spec.SecurityDefinitions{},
	}}
	for _, part := range parts {
		if part.Paths != nil {
			addMissing(merged.Paths.Paths, part.Paths.Paths)
		}
		addMissing(merged.Definitions, part.Definitions)
		addMissing(merged.Parameters, part.Parameters)
		addMissing(merged.SecurityDefinitions, part.SecurityDefinitions)
		if merged.Security == nil {
			merged.Security = part.Security
		}
	}
	everywhere := map[string]string{definitionDeleteOptions: "DeleteOptions", definitionWatchEvent: "WatchEvent"}
	for name, kind := range everywhere {
		if d, ok := merged.Definitions[name]; ok {
			// The part keeps its own extensions: it is merged again when another one changes.
			d.Extensions = maps.Clone(d.Extensions)
			d.AddExtension(kindExtension, kindInEach(kind, gvs))
			merged.Definitions[name] = d
		}
	}
	return merged
}

func addMissing[V any](to, from map[string]V) {
	for k, v := range from {
		if _, ok := to[k]; !ok {
			to[k] = v
		}
	}
}
