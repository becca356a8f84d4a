package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// sent is a request of the corpus. Its path is below the namespace, and %R in it is the resource.
type sent struct{ method, path, contentType, body string }

const (
	asJSON      = "application/json"
	asYAML      = "application/yaml"
	asProtobuf  = "application/vnd.kubernetes.protobuf"
	asMerge     = "application/merge-patch+json"
	asStrategic = "application/strategic-merge-patch+json"
	asJSONPatch = "application/json-patch+json"
	asApply     = "application/apply-patch+yaml"
)

// writesOf are requests that bring a marker to a resource, as well as they can and as badly. kind is the resource's, other
// is the kind of another one.
func writesOf(t *testing.T, kind, other, marker string) []sent {
	value := marker
	if kind == "Secret" {
		value = base64.StdEncoding.EncodeToString([]byte(marker))
	}
	object := func(kind, name, more string) string {
		applied := fmt.Sprintf(`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"k\":\"%s\"}}","copy":"%s"}`, marker, value)
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"%s","metadata":{"name":"%s",%s},"data":{"k":"%s"}%s}`, kind, name, applied, value, more)
	}
	list := fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[%s]}`, object(kind, "listed", ""))
	field, broken := fmt.Sprintf(`,"%s":"%s"`, marker, marker), `{"data":{"zz":5}}`
	named := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"%s","metadata":{"name":"s"},%s}`, kind, name)
	}
	return []sent{
		{"POST", "%R", asJSON, object(kind, "s", "")},
		{"POST", "%R?dryRun=All", asYAML, object(kind, "dry", "")},
		{"POST", "%R", asProtobuf, protobufOf(t, kind, "proto", marker)},
		{"POST", "%R", "application/cbor", object(kind, "cbor", "")},
		{"POST", "%R", asJSON, object(kind, "s", "")}, // it exists
		{"POST", "%R?fieldValidation=Strict", asJSON, object(kind, "strict", field)},
		{"POST", "%R?fieldValidation=Warn", asYAML, object(kind, "warned", field)},
		{"POST", "%R?fieldValidation=Strict", asYAML, fmt.Sprintf("kind: %s\napiVersion: v1\nmetadata: {name: twice}\ndata: {%s: x}\ndata: {%s: x}\n", kind, marker, marker)},
		{"POST", "%R", asYAML, "{" + marker + ": [" + marker},
		{"POST", "%R", asJSON, object(other, "other", "")},
		{"POST", "%R", asProtobuf, protobufOf(t, other, "other", marker)},
		{"POST", "%R", asJSON, list},
		{"POST", "%R", asJSON, `{"data":{"k":"` + value + `"}`}, // cut off
		{"POST", "%R", asJSON, `{"data":{"k":"` + value + `"},"apiVersion":"v2","kind":"` + kind + `"}`},
		{"POST", "%R", asJSON, `{"data":"` + marker + `","apiVersion":"v1","kind":"` + kind + `","metadata":{"name":"s"}}`},
		{"POST", "%R", asJSON, fmt.Sprintf(`{"apiVersion":"v1","kind":"%s","metadata":{"name":"badkey"},"data":{"bad/%s":"%s"}}`, kind, marker, value)},
		{"POST", "%R", asJSON, fmt.Sprintf(`{"apiVersion":"v1","kind":"%s","metadata":{"name":"k"},"type":{"%s":1}}`, kind, marker)},
		{"PUT", "%R/s", asJSON, object(kind, "s", "")},
		{"PUT", "%R/s", asJSON, object(other, "s", "")},
		{"PUT", "%R/s", asJSON, list},
		{"PUT", "%R/s", asJSON, object(kind, "s", `,"immutable":{"`+marker+`":true}`)},
		{"PATCH", "%R/s", asMerge, `{"data":{"k":"` + value + `","more":"` + value + `"}}`},
		{"PATCH", "%R/s", asMerge, `{"kind":"` + other + `"}`},
		{"PATCH", "%R/s", asMerge, `{"apiVersion":"v2"}`},
		{"PATCH", "%R/s", asMerge, broken},
		{"PATCH", "%R/s", asStrategic, broken},
		{"PATCH", "%R/s?fieldValidation=Strict", asMerge, `{"` + marker + `":1}`},
		{"PATCH", "%R/s?fieldValidation=Strict", asStrategic, `{"data":{"k":"` + value + `"}` + field + `}`},
		{"PATCH", "%R/s", asStrategic, `{"$patch":"` + marker + `"}`},
		{"PATCH", "%R/s", asJSONPatch, `[{"op":"replace","path":"/kind","value":"` + other + `"}]`},
		{"PATCH", "%R/s", asJSONPatch, `[{"op":"test","path":"/data/k","value":"` + marker + `"}]`},
		{"PATCH", "%R/s", asJSONPatch, `[{"op":"remove","path":"/data/` + marker + `/x"}]`},
		{"PATCH", "%R/s", asJSONPatch, `[{"op":"` + marker + `","path":"/data"}]`},
		{"PATCH", "%R/s", asJSONPatch, `[{"op":"add","path":"/data/n","value":5}]`},
		{"PATCH", "%R/s", asJSONPatch, `{"` + marker + `":`},
		{"PATCH", "%R/s?fieldManager=one", asApply, named(`"data":{"a":"` + value + `"}`)},
		{"PATCH", "%R/s?fieldManager=two", asApply, named(`"data":{"a":"eA=="}`)}, // a conflict
		{"PATCH", "%R/s?fieldManager=one", asApply, named(`"` + marker + `":{"a":"` + value + `"}`)},
		{"PATCH", "%R/s?fieldManager=one", asApply, named(`"data":["` + marker + `"]`)},
		{"PATCH", "%R/s?fieldManager=one", asApply, marker + ": [" + marker},
		{"PATCH", "%R/s?fieldManager=one", asApply, object(other, "s", "")},
		{"DELETE", "%R/s", asJSON, object(kind, "s", "")},
		{"DELETE", "%R/s?dryRun=All", asJSON, `{"kind":"DeleteOptions","apiVersion":"v1","` + marker + `":1,"preconditions":"` + marker + `"}`},
	}
}

// protobufOf is an object of a kind that holds the marker.
func protobufOf(t *testing.T, kind, name, marker string) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Annotations: map[string]string{"copy": marker}}
	var obj runtime.Object = &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": marker}}
	if kind == "Secret" {
		obj = &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"k": []byte(marker)}, StringData: map[string]string{"l": marker}}
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), asProtobuf)
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tokensIn are requests that bring a token where clients of other servers have theirs.
func tokensIn(token string) []sent {
	return []sent{
		{"GET", "%R?access_token=" + token, "", ""},
		{"GET", "%R?limit=1&token=" + token + "&watch=0", "", ""},
		{"GET", "%R?limit=x&" + token, "", ""},
		{"GET", "%R/s?limit=1;token=" + token, "", ""},
		{"GET", "%R?fieldSelector=data.password%3D" + token, "", ""},
		{"GET", "%R?fieldSelector=data.password%3D%3D%3D" + token + "%21", "", ""},
		{"DELETE", "%R?fieldSelector=metadata.name%3Dnone%2Cdata.k%3D" + token, "", ""},
		{"GET", "%R/%2e%2e/s?token=" + token, "", ""},
	}
}

// headersWith are headers that hold a token. Who sends them is not let in.
func headersWith(token string) []http.Header {
	protocol := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	return []http.Header{
		{"Authorization": {"Bearer " + token}},
		{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+token))}},
		{"Authorization": {token}},
		{"Cookie": {"token=" + token}},
		{"X-Remote-Extra-Token": {token}},
		{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {protocol}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}},
	}
}

// client sends the requests of the corpus, and wants each to be recorded with objects.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

func (c *client) send(namespace, resource string, all []sent) {
	c.t.Helper()
	for _, s := range all {
		path := "/api/v1/namespaces/" + namespace + "/" + strings.ReplaceAll(s.path, "%R", resource)
		c.do(s.method, path, s.body, http.Header{"Content-Type": {s.contentType}})
	}
}

// do sends one request and returns the answer, whatever it is.
func (c *client) do(method, path, body string, header http.Header) (code int, answer []byte) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Kx-Trace", "objects")
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, answer
}
