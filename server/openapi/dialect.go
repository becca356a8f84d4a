package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"unique"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// dialect is the form of documents in one version of OpenAPI.
type dialect struct {
	name, version string
	// definitions and definitionsEnd enclose the members of a document's definitions.
	definitions, definitionsEnd string
	parameters                  string
	// security begins the security of a fragment's document.
	security string
	// tail ends all documents.
	tail string

	// schema returns the schema of a built-in definition.
	schema func(definition) *spec.Schema
	// toProto encodes a document. Without head, it omits version and info. Protobuf merges consecutive messages, so a
	// document is its head followed by one message for each fragment.
	toProto func(document []byte, head bool) ([]byte, error)

	// shared caches the encoded built-in definitions.
	shared sync.Map
}

var v3 = &dialect{
	name:           "v3",
	version:        `"openapi":"3.0.0"`,
	definitions:    `"components":{"schemas":{`,
	definitionsEnd: `}`,
	security:       `,"securitySchemes":`,
	tail:           `}}`,
	schema:         definition.v3,
	toProto: func(document []byte, head bool) ([]byte, error) {
		message, err := openapi_v3.ParseDocument(document)
		if err != nil {
			return nil, err
		}
		if !head {
			message.Openapi, message.Info = "", nil
		}
		return proto.Marshal(message)
	},
}

var v2 = &dialect{
	name:           "v2",
	version:        `"swagger":"2.0"`,
	definitions:    `"definitions":{`,
	definitionsEnd: `}`,
	parameters:     `,"parameters":{`,
	tail: `,"securityDefinitions":{"BearerToken":{"description":"Bearer Token authentication","type":"apiKey",` +
		`"name":"authorization","in":"header"}},` +
		`"security":[{"BearerToken":[]}]}`,
	// Clients of v2 would send a default explicitly.
	schema: func(d definition) *spec.Schema { return handler.PruneDefaultsSchema(d.v2()) },
	toProto: func(document []byte, head bool) ([]byte, error) {
		message, err := openapi_v2.ParseDocument(document)
		if err != nil {
			return nil, err
		}
		if !head {
			message.Swagger, message.Info, message.SecurityDefinitions, message.Security = "", nil, nil, nil
		}
		return proto.Marshal(message)
	},
}

var emptyInfo = []byte(`{"title":"","version":""}`)

// write writes a document. The functions write its members.
func (d *dialect) write(out *joiner, info, security []byte, paths, definitions, parameters func()) {
	out.open(`{` + d.version + `,"info":`)
	out.raw(info)
	out.open(`,"paths":{`)
	paths()
	out.open(`},` + d.definitions)
	definitions()
	out.open(d.definitionsEnd)
	if d.parameters != "" {
		out.open(d.parameters)
		parameters()
		out.open(`}`)
	}
	if d.security != "" && len(security) > 0 && string(security) != "null" {
		out.open(d.security)
		out.raw(security)
	}
	out.open(d.tail)
}

// definitionForms is one definition: as a member in JSON, and as a document in protobuf.
type definitionForms struct {
	json  []byte
	proto func() ([]byte, error)
}

// definition encodes a built-in definition once, except in v3 those that name the group versions of their document. The
// only document of v2 has all group versions that Kubernetes knows, so there they are embedded.
func (d *dialect) definition(name string, gvs []schema.GroupVersion) (*definitionForms, error) {
	if e, ok := d.shared.Load(name); ok {
		return e.(*definitionForms), nil
	}
	found, ok := lookup(name)
	if !ok {
		return nil, fmt.Errorf("encode definition %s: there is none", name)
	}
	kind, varies := everywhere[name]
	varies = varies && d == v3
	e := &definitionForms{json: found.member}
	if varies || d == v2 {
		s := d.schema(found)
		if varies {
			s.AddExtension(kindExtension, kindInEach(kind, gvs))
		}
		data, err := json.Marshal(map[string]*spec.Schema{name: s})
		if err != nil {
			return nil, fmt.Errorf("encode definition %s: %w", name, err)
		}
		e.json = data[1 : len(data)-1]
	}
	e.proto = sync.OnceValues(func() ([]byte, error) {
		return d.protoOf(members{definitions: e.json})
	})
	if !varies {
		d.shared.Store(name, e)
	}
	return e, nil
}

// members holds the members of a document's objects in JSON.
type members struct{ paths, definitions, parameters []byte }

// protoOf returns the protobuf of a document with only these members.
func (d *dialect) protoOf(m members) ([]byte, error) {
	var b bytes.Buffer
	out := &joiner{w: &b}
	d.write(out, emptyInfo, nil, func() { out.member(m.paths) }, func() { out.member(m.definitions) }, func() { out.member(m.parameters) })
	return d.toProto(b.Bytes(), false)
}

// joiner writes members with commas between them, until a write fails.
type joiner struct {
	w     io.Writer
	comma bool
	err   error
}

func (j *joiner) raw(data []byte) {
	if j.err == nil {
		_, j.err = j.w.Write(data)
	}
}

// open writes punctuation before a first member.
func (j *joiner) open(text string) {
	j.raw([]byte(text))
	j.comma = false
}

// member writes one or more members.
func (j *joiner) member(data []byte) {
	if len(data) == 0 {
		return
	}
	if j.comma {
		j.raw([]byte{','})
	}
	j.raw(data)
	j.comma = true
}

// intern keeps one copy of a text that many parts have.
func intern(data []byte) string { return unique.Make(string(data)).Value() }
