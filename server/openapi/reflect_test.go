package openapi

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type shape struct {
	Plain   string `json:"plain,omitempty"`
	Renamed bool
	Left    string `json:"-"`

	nested
	*Pointed
	Named  nested             `json:"named"`
	Bytes  []byte             `json:"bytes"`
	Small  uint8              `json:"small"`
	Large  uint64             `json:"large"`
	Part   float32            `json:"part"`
	List   []*nested          `json:"list"`
	Map    map[string][]int32 `json:"map"`
	Any    any                `json:"any"`
	Itself *shape             `json:"itself"`
	Code   custom             `json:"code"`
	Known  corev1.EnvVar      `json:"known"`
	Time   metav1.Time        `json:"time"`
	Either intstr.IntOrString `json:"either"`
	Other  *other             `json:"other"`
}

type nested struct {
	Inner string `json:"inner"`
}

type Pointed struct {
	Far string `json:"far"`
	*shape
}

type other struct{}

// custom is what its code says, not what its fields say.
type custom url.URL

func (*custom) MarshalJSON() ([]byte, error) { return []byte(`"x"`), nil }

// TestReflected describes fields of every sort.
func TestReflected(t *testing.T) {
	gv := schema.GroupVersion{Group: "sky.example.com", Version: "v1"}
	r := newReflector(gv, []Resource{
		{APIResource: metav1.APIResource{Name: "shapes", Kind: "Shape"}, Type: reflect.TypeFor[shape]()},
		{APIResource: metav1.APIResource{Name: "others", Kind: "Other"}, Type: reflect.TypeFor[other]()},
		{APIResource: metav1.APIResource{Name: "pods", Kind: "Pod"}}, // without a type there is a definition
	})
	definitions := r.definitions("#/somewhere/")
	if len(definitions) != 2 {
		t.Errorf("%d definitions", len(definitions))
	}
	d := definitions["com.example.sky.v1.Shape"]
	text, err := json.Marshal(d.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type       string
		Properties map[string]json.RawMessage
		Kinds      []map[string]string `json:"x-kubernetes-group-version-kind"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	const inner = `{"type":"object","properties":{"inner":{"type":"string"}}}`
	want := map[string]string{
		"plain": `{"type":"string"}`, "Renamed": `{"type":"boolean"}`, "inner": `{"type":"string"}`, "far": `{"type":"string"}`,
		"named": inner, "bytes": `{"type":"string","format":"byte"}`, "small": `{"type":"integer","format":"int32"}`,
		"large": `{"type":"integer","format":"int64"}`, "part": `{"type":"number","format":"double"}`,
		"list": `{"type":"array","items":` + inner + `}`,
		"map":  `{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer","format":"int32"}}}`,
		"any":  `{"x-kubernetes-preserve-unknown-fields":true}`, "code": `{"x-kubernetes-preserve-unknown-fields":true}`,
		"itself": `{"$ref":"#/somewhere/com.example.sky.v1.Shape"}`, "other": `{"$ref":"#/somewhere/com.example.sky.v1.Other"}`,
		"known":  `{"$ref":"#/somewhere/io.k8s.api.core.v1.EnvVar"}`,
		"time":   `{"$ref":"#/somewhere/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}`,
		"either": `{"$ref":"#/somewhere/io.k8s.apimachinery.pkg.util.intstr.IntOrString"}`,
	}
	properties := map[string]string{}
	for name, p := range got.Properties {
		properties[name] = string(p)
	}
	if diff := cmp.Diff(want, properties); diff != "" {
		t.Error(diff)
	}
	if got.Type != "object" || !cmp.Equal(got.Kinds, []map[string]string{{"group": "sky.example.com", "version": "v1", "kind": "Shape"}}) {
		t.Errorf("%s", text)
	}
	if want := []string{"com.example.sky.v1.Other", "com.example.sky.v1.Shape", "io.k8s.api.core.v1.EnvVar",
		"io.k8s.apimachinery.pkg.apis.meta.v1.Time", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"}; !cmp.Equal(d.Dependencies, want) {
		t.Errorf("it needs %v", d.Dependencies)
	}
	if none := newReflector(gv, []Resource{{}}); none != nil || none.definitions("") != nil {
		t.Errorf("nothing is described as %v", none)
	}
}
