package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	yamlnode "go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kinds are those of discovery, which come as protobuf too. Some have no version, so no scheme takes them.
var kinds = map[string]func() message{
	"APIVersions":           func() message { return &metav1.APIVersions{} },
	"APIGroupList":          func() message { return &metav1.APIGroupList{} },
	"APIGroup":              func() message { return &metav1.APIGroup{} },
	"APIResourceList":       func() message { return &metav1.APIResourceList{} },
	"APIGroupDiscoveryList": func() message { return &apidiscoveryv2.APIGroupDiscoveryList{} },
	"Status":                func() message { return &metav1.Status{} },
}

type message interface {
	Unmarshal([]byte) error
	GetObjectKind() schema.ObjectKind
}

// ofProtobuf decodes an object of discovery, and encodes it as JSON.
func ofProtobuf(body []byte) ([]byte, error) {
	var envelope runtime.Unknown
	data, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return nil, errors.New("it is not protobuf of Kubernetes")
	}
	if err := envelope.Unmarshal(data); err != nil {
		return nil, err
	}
	create := kinds[envelope.Kind]
	if create == nil {
		return nil, fmt.Errorf("unknown kind %q", envelope.Kind)
	}
	obj := create()
	if err := obj.Unmarshal(envelope.Raw); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
	encoded, err := json.Marshal(obj)
	return address.ReplaceAll(encoded, []byte("${1}HOST:1")), err
}

// tree decodes the body, whatever encodes it.
func (a Answer) tree() (any, error) {
	contentType, _, _ := strings.Cut(a.Header["Content-Type"], ";")
	body := a.body
	switch contentType {
	case yamlType:
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil, err
		}
	case protobufType:
		var err error
		if body, err = ofProtobuf(body); err != nil {
			return nil, err
		}
	case openAPIv2:
		document := &openapi_v2.Document{}
		if err := proto.Unmarshal(body, document); err != nil {
			return nil, err
		}
		return ofNode(document.ToRawInfo())
	case openAPIv3:
		document := &openapi_v3.Document{}
		if err := proto.Unmarshal(body, document); err != nil {
			return nil, err
		}
		return ofNode(document.ToRawInfo())
	}
	if !json.Valid(body) {
		return string(body), nil
	}
	return ofJSON(body)
}

func ofNode(node *yamlnode.Node) (any, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return ofJSON(data)
}

func ofJSON(data []byte) (out any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&out)
	return out, err
}
