package whatif

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/server/peertest"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// etcd is an etcd with objects in version v1, and how it is read.
func etcd(t *testing.T, names ...string) (*clientv3.Client, admin.Source, *admin.Decoder) {
	t.Helper()
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	d := &admin.Decoder{Prefix: "/" + t.Name()}
	for _, name := range names {
		value := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":%q,"namespace":"default","uid":"u","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"size":1}}`, name)
		if _, err := client.Put(t.Context(), admin.Path(d.Prefix, "example.com/pandas/default/"+name), value); err != nil {
			t.Fatal(err)
		}
	}
	return client, admin.NewLive(client, "etcd"), d
}

// pandas is a definition with two versions, converted by a webhook.
func pandas(t *testing.T, webhook *peertest.Webhook) *Definition {
	t.Helper()
	schema := func(field string) *apiextensionsv1.CustomResourceValidation {
		return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{field: {Type: "integer"}},
			}},
		}}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "pandas.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "pandas", Singular: "panda", Kind: "Panda", ListKind: "PandaList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Schema: schema("size")}, {Name: "v2", Served: true, Storage: true, Schema: schema("kilos")},
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: webhook.ClientConfig(),
			}},
		},
	}
	data, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	tried, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Try(t.Context(), tried, nil)
	if err != nil || len(d.Errors) > 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// TestWebhook has a webhook that converts all objects but one, to which the new version loses something.
func TestWebhook(t *testing.T) {
	_, source, decoder := etcd(t, "a", "b", "stubborn")
	webhook := peertest.NewWebhook(t, func(obj *unstructured.Unstructured, _ string) error {
		if obj.GetName() == "stubborn" {
			return errors.New("it does not want to")
		}
		size, _, _ := unstructured.NestedInt64(obj.Object, "spec", "size")
		return unstructured.SetNestedField(obj.Object, map[string]any{"kilos": size, "nobody": "knows"}, "spec")
	})
	trial, err := NewTrial(pandas(t, webhook))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for o, err := range trial.Objects(t.Context(), source, decoder, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range o.Versions {
			found = append(found, o.Name+" "+v.Version+" "+strings.Join(v.Lost, ","))
		}
		for _, text := range o.Errors {
			found = append(found, o.Name+" "+text)
		}
	}
	want := "a v1 |a v2 spec.nobody|b v1 |b v2 spec.nobody|stubborn v1 |stubborn to v2: conversion webhook for example.com/v1, Kind=Panda failed: it does not want to"
	if got := strings.Join(found, "|"); got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
	if s := trial.Summary; s.Objects != 3 || s.Errors != 1 || s.Lost != 2 || s.NotConverted != 0 || s.Stored["v1"] != 3 {
		t.Errorf("%+v", s)
	}
}

// TestWebhookGone: a webhook that is not there is asked a few times, and then it is said.
func TestWebhookGone(t *testing.T) {
	const objects = 8
	var names []string
	for i := range objects {
		names = append(names, fmt.Sprint("p", i))
	}
	_, source, decoder := etcd(t, names...)
	webhook := peertest.NewWebhook(t, nil)
	trial, err := NewTrial(pandas(t, webhook))
	if err != nil {
		t.Fatal(err)
	}
	webhook.Server.Close()
	for _, err := range trial.Objects(t.Context(), source, decoder, nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := trial.Summary; s.Objects != objects || s.Errors != mostFailures || s.NotConverted != objects-mostFailures || !strings.Contains(s.Webhook, "not asked again") {
		t.Errorf("%+v", s)
	}
}

// TestCustom reads each definition once, and says what can't be checked.
func TestCustom(t *testing.T) {
	client, source, decoder := etcd(t)
	check := Custom(source, decoder)
	panda := map[string]any{"apiVersion": "example.com/v1", "kind": "Panda", "metadata": map[string]any{"name": "a", "namespace": "default"}}
	resource := (&Definition{crd: &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "pandas"},
	}}}).Resource()
	var wrong *admin.Objections
	if err := check(t.Context(), resource, panda); err == nil || errors.As(err, &wrong) {
		t.Errorf("without a definition: %v", err)
	}
	if _, err := client.Put(t.Context(), admin.Path(decoder.Prefix, "apiextensions.k8s.io/customresourcedefinitions/pandas.example.com"), "{}"); err != nil {
		t.Fatal(err)
	}
	if err := Custom(source, decoder)(t.Context(), resource, panda); err == nil || errors.As(err, &wrong) {
		t.Errorf("with one that can't be understood: %v", err)
	}
}
