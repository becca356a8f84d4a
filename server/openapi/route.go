package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
)

// route is one operation, in the form that kube-openapi's builders for v2 and v3 both read.
type route struct {
	method, path, operation, description string
	tags, consumes, produces             []string
	parameters                           []*parameter
	metadata                             map[string]any
	body, response                       model
	codes                                []int
}

var _ common.Route = (*route)(nil)

// takes adds a body.
func (r *route) takes(body model, required bool) {
	r.body = body
	r.parameters = append(r.parameters, &parameter{name: "body", kind: common.BodyParameterKind, required: required})
}

func (r *route) Method() string           { return r.method }
func (r *route) Path() string             { return r.path }
func (r *route) OperationName() string    { return r.operation }
func (r *route) Description() string      { return r.description }
func (r *route) Consumes() []string       { return r.consumes }
func (r *route) Produces() []string       { return r.produces }
func (r *route) Metadata() map[string]any { return r.metadata }

func (r *route) RequestPayloadSample() any {
	if r.body == "" {
		return nil
	}
	return r.body
}

// ResponsePayloadSample is nil because StatusCodeResponses is never empty.
func (r *route) ResponsePayloadSample() any { return nil }

func (r *route) Parameters() []common.Parameter {
	parameters := make([]common.Parameter, 0, len(r.parameters))
	for _, p := range r.parameters {
		parameters = append(parameters, p)
	}
	return parameters
}

func (r *route) StatusCodeResponses() []common.StatusCodeResponse {
	responses := make([]common.StatusCodeResponse, 0, len(r.codes))
	for _, code := range r.codes {
		responses = append(responses, response{code, r.response})
	}
	return responses
}

// routes are those below one root.
type routes struct {
	root string
	list []*route
}

var _ common.RouteContainer = routes{}

func (r routes) RootPath() string                   { return r.root }
func (r routes) PathParameters() []common.Parameter { return nil }

func (r routes) Routes() []common.Route {
	list := make([]common.Route, 0, len(r.list))
	for _, item := range r.list {
		list = append(list, item)
	}
	return list
}

// model is the name of a definition, where a builder wants a value of the type.
type model string

// OpenAPIModelName gives a builder the name of the definition.
func (m model) OpenAPIModelName() string { return string(m) }

// kindModel is the definition of a kind. For a kind that has none the builder fails, and names what it looked for.
func kindModel(gvk schema.GroupVersionKind) model {
	if name, ok := namesByKind()[gvk]; ok {
		return model(name)
	}
	return model(gvk.String())
}

type response struct {
	code  int
	model model
}

func (r response) Code() int       { return r.code }
func (r response) Message() string { return http.StatusText(r.code) }
func (r response) Model() any      { return r.model }

type parameter struct {
	name, description, dataType string
	kind                        common.ParameterKind
	required                    bool
}

func (p *parameter) Name() string               { return p.name }
func (p *parameter) Description() string        { return p.description }
func (p *parameter) Required() bool             { return p.required }
func (p *parameter) Kind() common.ParameterKind { return p.kind }
func (p *parameter) DataType() string           { return p.dataType }
func (p *parameter) AllowMultiple() bool        { return false }

var (
	pretty = &parameter{name: "pretty", dataType: "string", kind: common.QueryParameterKind,
		description: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget)."}
	namespace = &parameter{name: "namespace", dataType: "string", kind: common.PathParameterKind, required: true,
		description: "object name and auth scope, such as for teams and projects"}
)

func nameOf(kind string) *parameter {
	return &parameter{name: "name", dataType: "string", kind: common.PathParameterKind, required: true, description: "name of the " + kind}
}

// optionSet is an options type, whose fields are query parameters, but for some of them.
type optionSet struct {
	of interface {
		SwaggerDoc() map[string]string
	}
	without []string
}

// parameters are the fields that a query can hold: those that are not structs.
func (o optionSet) parameters() []*parameter {
	descriptions := o.of.SwaggerDoc()
	var parameters []*parameter
	t := reflect.TypeOf(o.of).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		dataType := queryType(t.Field(i).Type)
		if name == "" || dataType == "" || slices.Contains(o.without, name) {
			continue
		}
		parameters = append(parameters, &parameter{name: name, description: descriptions[name], dataType: dataType, kind: common.QueryParameterKind})
	}
	return parameters
}

// queryType is the JSON type of a query parameter. A list is described by its elements, as the query repeats the name.
func queryType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return queryType(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	default:
		return ""
	}
}

// discoveryRoute describes a path by which the server is discovered.
func discoveryRoute(gv schema.GroupVersion, root, operation, description string, response model) *route {
	verb, rest := operation[:3], operation[3:]
	r := &route{method: http.MethodGet, path: root + "/", description: description, response: response, codes: []int{http.StatusOK},
		consumes: objectMediaTypes, produces: objectMediaTypes}
	if gv.Empty() && root != "/api" {
		r.operation, r.tags = operation, []string{strings.Trim(root, "/")}
	} else {
		r.operation, r.tags = operationID(verb, gv, rest), []string{tag(gv)}
	}
	return r
}
