package operation

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
)

// Operation is a method of a path.
type Operation struct {
	Verb, Pattern, ID, Words string
	Tags, Takes, Gives       []string
	Params                   []*Parameter
	Extensions               map[string]any
	Body, Answer             Model
	// Codes are the status codes of success.
	Codes []int
}

var _ common.Route = (*Operation)(nil)

// WithBody adds a body.
func (o *Operation) WithBody(body Model, required bool) {
	o.Body = body
	o.Params = append(o.Params, &Parameter{Named: "body", In: common.BodyParameterKind, Needed: required})
}

// The builders call these methods.

func (o *Operation) Method() string           { return o.Verb }
func (o *Operation) Path() string             { return o.Pattern }
func (o *Operation) OperationName() string    { return o.ID }
func (o *Operation) Description() string      { return o.Words }
func (o *Operation) Consumes() []string       { return o.Takes }
func (o *Operation) Produces() []string       { return o.Gives }
func (o *Operation) Metadata() map[string]any { return o.Extensions }

func (o *Operation) RequestPayloadSample() any {
	if o.Body == "" {
		return nil
	}
	return o.Body
}

// ResponsePayloadSample is nil because StatusCodeResponses is never empty.
func (o *Operation) ResponsePayloadSample() any { return nil }

func (o *Operation) Parameters() []common.Parameter {
	parameters := make([]common.Parameter, 0, len(o.Params))
	for _, p := range o.Params {
		parameters = append(parameters, p)
	}
	return parameters
}

func (o *Operation) StatusCodeResponses() []common.StatusCodeResponse {
	responses := make([]common.StatusCodeResponse, 0, len(o.Codes))
	for _, code := range o.Codes {
		responses = append(responses, response{code, o.Answer})
	}
	return responses
}

// Group groups the operations below one root.
type Group struct {
	Root string
	List []*Operation
}

var _ common.RouteContainer = Group{}

func (b Group) RootPath() string                   { return b.Root }
func (b Group) PathParameters() []common.Parameter { return nil }

func (b Group) Routes() []common.Route {
	list := make([]common.Route, 0, len(b.List))
	for _, item := range b.List {
		list = append(list, item)
	}
	return list
}

// Model is the name of a definition. Builders accept it in place of a value of the type.
type Model string

// OpenAPIModelName returns the name of the definition to a builder.
func (m Model) OpenAPIModelName() string { return string(m) }

type response struct {
	code  int
	model Model
}

func (r response) Code() int       { return r.code }
func (r response) Message() string { return http.StatusText(r.code) }
func (r response) Model() any      { return r.model }

// Parameter is a part of a path or of a query, or the body.
type Parameter struct {
	Named, Words, Type string
	In                 common.ParameterKind
	Needed             bool
}

func (p *Parameter) Name() string               { return p.Named }
func (p *Parameter) Description() string        { return p.Words }
func (p *Parameter) Required() bool             { return p.Needed }
func (p *Parameter) Kind() common.ParameterKind { return p.In }
func (p *Parameter) DataType() string           { return p.Type }
func (p *Parameter) AllowMultiple() bool        { return false }

// Common parameters of paths.
var (
	Pretty = &Parameter{Named: "pretty", Type: "string", In: common.QueryParameterKind,
		Words: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser " +
			"or command-line HTTP tool (curl and wget)."}
	Namespace = &Parameter{Named: "namespace", Type: "string", In: common.PathParameterKind, Needed: true,
		Words: "object name and auth scope, such as for teams and projects"}
	Path = &Parameter{Named: "path", Type: "string", In: common.PathParameterKind, Needed: true, Words: "path to the resource"}
)

// NameOf returns the parameter for an object's name in its path.
func NameOf(kind string) *Parameter {
	return &Parameter{Named: "name", Type: "string", In: common.PathParameterKind, Needed: true, Words: "name of the " + kind}
}

// Options is an options type whose fields are query parameters, except those in Without.
type Options struct {
	Of interface {
		SwaggerDoc() map[string]string
	}
	Without []string
}

// Parameters returns the fields that a query can have: all but structs.
func (o Options) Parameters() []*Parameter {
	descriptions := o.Of.SwaggerDoc()
	var parameters []*Parameter
	t := reflect.TypeOf(o.Of).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		dataType := queryType(t.Field(i).Type)
		if name == "" || dataType == "" || slices.Contains(o.Without, name) {
			continue
		}
		parameters = append(parameters, &Parameter{Named: name, Words: descriptions[name], Type: dataType, In: common.QueryParameterKind})
	}
	return parameters
}

// queryType returns the JSON type of a query parameter. A list has the type of its elements, because a query repeats
// the name for each element.
func queryType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return queryType(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int64, reflect.Int32:
		return "integer"
	case reflect.String:
		return "string"
	default:
		return ""
	}
}
