package conversion_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/peertest"
)

var (
	v1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
	v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}
)

// definition has two versions. A nil config is the strategy None.
func definition(config *apiextensionsv1.WebhookClientConfig, reviews ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Served: true},
		{Name: "v2", Served: true, Storage: true, SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}}},
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if config != nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: config, ConversionReviewVersions: reviews},
		}
	}
	return crd
}

func converterFor(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) *conversion.Converter {
	t.Helper()
	factory, err := conversion.NewFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := factory.NewConverter(crd)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// widget is an object as it is stored and read: with metadata that no webhook may change.
func widget(gv schema.GroupVersion, name string, spec map[string]any) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gv.String(), "kind": "Widget",
		"metadata": map[string]any{
			"name": name, "namespace": "default", "uid": "u-" + name, "resourceVersion": "7", "generation": int64(1),
			"labels": map[string]any{"a": "b"},
		},
		"spec": spec,
	}}
}

// rename is the webhook: size in v1 is length in v2, and a label says who converted.
func rename(obj *unstructured.Unstructured, to string) error {
	from, name := "length", "size"
	if to == v2.String() {
		from, name = name, from
	}
	spec := obj.Object["spec"].(map[string]any)
	if spec["refuse"] == true {
		return errors.New("this one can't be converted")
	}
	spec[name] = spec[from]
	delete(spec, from)
	obj.SetLabels(map[string]string{"converted": "yes"})
	obj.SetGeneration(99)
	return nil
}

func TestNoneChangesTheVersionAlone(t *testing.T) {
	c := converterFor(t, definition(nil))
	in := widget(v1, "a", map[string]any{"size": int64(1)})
	before := in.DeepCopy()
	out, err := c.Convert(t.Context(), &in, v2)
	if err != nil {
		t.Fatal(err)
	}
	want := widget(v2, "a", map[string]any{"size": int64(1)})
	if diff := cmp.Diff(&want, out); diff != "" {
		t.Error(diff)
	}
	out.(*unstructured.Unstructured).Object["spec"].(map[string]any)["size"] = int64(2)
	if diff := cmp.Diff(before, &in); diff != "" {
		t.Errorf("the input was changed: %s", diff)
	}
	if same, err := c.Convert(t.Context(), &in, v1); err != nil || same != runtime.Object(&in) {
		t.Errorf("nothing to do: %v, %v", same, err)
	}
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{in, want}}
	list.SetGroupVersionKind(v2.WithKind("WidgetList"))
	converted, err := c.Convert(t.Context(), list, v2)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range converted.(*unstructured.UnstructuredList).Items {
		if item.GetAPIVersion() != v2.String() {
			t.Errorf("%s is in %s", item.GetName(), item.GetAPIVersion())
		}
	}
	if c.ChangesContent() {
		t.Error("None changes content")
	}
}

func TestVersionsThatTheDefinitionDoesNotHave(t *testing.T) {
	c := converterFor(t, definition(nil))
	v3 := schema.GroupVersion{Group: "example.com", Version: "v3"}
	good, bad := widget(v1, "a", nil), widget(v3, "b", nil)
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{good, bad}}
	list.SetGroupVersionKind(v2.WithKind("WidgetList"))
	for _, tc := range []struct {
		in   runtime.Object
		to   schema.GroupVersion
		want string
	}{
		{&good, v3, "request to convert CR to an invalid group/version: example.com/v3"},
		{&bad, v1, "request to convert CR from an invalid group/version: example.com/v3"},
		{list, v2, "request to convert CR list failed, list index 1 has invalid group/version: example.com/v3"},
		{&metav1.Status{}, v2, "input type *v1.Status in not valid for unstructured conversion"},
	} {
		if _, err := c.Convert(t.Context(), tc.in, tc.to); err == nil || err.Error() != tc.want {
			t.Errorf("want %q, got %v", tc.want, err)
		}
	}
}

func TestWebhook(t *testing.T) {
	for _, reviews := range [][]string{{"v1"}, {"v9", "v1beta1", "v1"}} {
		hook := peertest.NewWebhook(t, rename)
		c := converterFor(t, definition(hook.ClientConfig(), reviews...))
		in := widget(v1, "a", map[string]any{"size": int64(1)})
		out, err := c.Convert(t.Context(), &in, v2)
		if err != nil {
			t.Fatal(err)
		}
		want := widget(v2, "a", map[string]any{"length": int64(1)})
		want.SetLabels(map[string]string{"converted": "yes"})
		if diff := cmp.Diff(&want, out); diff != "" {
			t.Error(diff)
		}
		list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{
			in, want, widget(v1, "b", map[string]any{"size": int64(2)}),
		}}
		list.SetGroupVersionKind(v2.WithKind("WidgetList"))
		list.SetResourceVersion("8")
		converted, err := c.Convert(t.Context(), list, v2)
		if err != nil {
			t.Fatal(err)
		}
		all := converted.(*unstructured.UnstructuredList)
		if names := fmt.Sprint(all.Items[0].GetName(), all.Items[1].GetName(), all.Items[2].GetName()); names != "aab" || all.GetResourceVersion() != "8" {
			t.Errorf("got %s at %s", names, all.GetResourceVersion())
		}
		if got, _, _ := unstructured.NestedInt64(all.Items[2].Object, "spec", "length"); got != 2 {
			t.Errorf("got %v", all.Items[2])
		}
		if diff := cmp.Diff([]peertest.Call{{Objects: 1, To: v2.String()}, {Objects: 2, To: v2.String()}}, hook.Calls()); diff != "" {
			t.Errorf("a list is one call: %s", diff)
		}
		empty := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1.String(), "kind": "Widget"}}
		if out, err := c.Convert(t.Context(), empty, v2); err != nil || out.(*unstructured.Unstructured).GetAPIVersion() != v2.String() || len(hook.Calls()) > 0 {
			t.Errorf("an empty object is nothing for a webhook: %v, %v", out, err)
		}
	}
}

// serviceAt resolves all services to one address.
type serviceAt struct {
	host  string
	asked []string
}

func (s *serviceAt) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s/%s:%d", namespace, name, port))
	return &url.URL{Scheme: "https", Host: s.host}, nil
}

func TestWebhookOfAService(t *testing.T) {
	hook := peertest.NewWebhook(t, rename)
	services := &serviceAt{host: strings.TrimPrefix(hook.Server.URL, "https://")}
	factory, err := conversion.NewFactory(services, nil)
	if err != nil {
		t.Fatal(err)
	}
	port, path := int32(8443), "/x"
	config := hook.ClientConfig()
	config.URL, config.Service = nil, &apiextensionsv1.ServiceReference{Namespace: "ns", Name: "svc", Port: &port, Path: &path}
	c, err := factory.NewConverter(definition(config, "v1"))
	if err != nil {
		t.Fatal(err)
	}
	in := widget(v1, "a", map[string]any{"size": int64(1)})
	// The certificate is another name's: that the service was asked, and by which name, is what can be seen.
	if _, err := c.Convert(t.Context(), &in, v2); err == nil || !strings.Contains(err.Error(), `Post "https://svc.ns.svc:8443/x?timeout=30s"`) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"ns/svc:8443"}, services.asked); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitionsThatCanNotBeConverted(t *testing.T) {
	hook := peertest.NewWebhook(t, rename)
	factory, err := conversion.NewFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	strange := definition(nil)
	strange.Spec.Conversion.Strategy = "Magic"
	lacking := definition(hook.ClientConfig(), "v1")
	lacking.Spec.Conversion.Webhook.ClientConfig = nil
	nowhere := definition(&apiextensionsv1.WebhookClientConfig{}, "v1")
	for want, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{
		`unknown conversion strategy "Magic" for CRD widgets.example.com`:                                                            strange,
		"CRD widgets.example.com has the conversion strategy Webhook and no webhook.clientConfig":                                    lacking,
		"no supported conversion review versions":                                                                                    definition(hook.ClientConfig(), "v9"),
		`failed calling webhook "conversion_webhook_for_widgets.example.com": webhook configuration must have either service or URL`: nowhere,
	} {
		if _, err := factory.NewConverter(crd); err == nil || err.Error() != want {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	crd := definition(nil)
	crd.Spec.Conversion = nil
	if c, err := factory.NewConverter(crd); err != nil || c.ChangesContent() {
		t.Errorf("without a strategy it is None: %v", err)
	}
}

func TestFieldLabels(t *testing.T) {
	namespaced := converterFor(t, definition(nil))
	cluster := definition(nil)
	cluster.Spec.Scope = apiextensionsv1.ClusterScoped
	for _, tc := range []struct {
		c     *conversion.Converter
		gv    schema.GroupVersion
		label string
		ok    bool
	}{
		{namespaced, v1, "metadata.name", true}, {namespaced, v1, "metadata.namespace", true}, {namespaced, v2, "spec.color", true},
		{namespaced, v1, "spec.color", false}, {namespaced, v2, "spec.size", false},
		{converterFor(t, cluster), v1, "metadata.name", true}, {converterFor(t, cluster), v1, "metadata.namespace", false},
	} {
		label, value, err := tc.c.ConvertFieldLabel(tc.gv.WithKind("Widget"), tc.label, "x")
		if tc.ok != (err == nil) || tc.ok && (label != tc.label || value != "x") {
			t.Errorf("%s in %s: %q, %q, %v", tc.label, tc.gv, label, value, err)
		}
		if err != nil && err.Error() != "field label not supported: "+tc.label {
			t.Error(err)
		}
	}
}

func TestWithinForLibraries(t *testing.T) {
	c := converterFor(t, definition(nil)).WithContext(t.Context())
	in := widget(v1, "a", nil)
	out, err := c.ConvertToVersion(&in, v2)
	if err != nil || out.(*unstructured.Unstructured).GetAPIVersion() != v2.String() || in.GetAPIVersion() != v1.String() {
		t.Errorf("%v, %v", out, err)
	}
	same, err := c.ConvertToVersion(&in, v1)
	if err != nil || same == runtime.Object(&in) {
		t.Errorf("it is to be a copy: %v, %v", same, err)
	}
	into := &unstructured.Unstructured{}
	into.SetGroupVersionKind(v2.WithKind("Widget"))
	if err := c.Convert(&in, into, nil); err != nil || into.GetName() != "a" || into.GetAPIVersion() != v2.String() {
		t.Errorf("%v, %v", into, err)
	}
	if err := c.Convert(&metav1.Status{}, into, nil); err == nil {
		t.Error("a Status became a custom resource")
	}
	if err := c.Convert(&in, &metav1.Status{}, nil); err == nil {
		t.Error("a custom resource became a Status")
	}
	if _, err := c.ConvertToVersion(&in, schema.GroupVersion{Group: "other", Version: "v1"}); err == nil {
		t.Error("it left its group")
	}
}

func TestJourney(t *testing.T) {
	hook := peertest.NewWebhook(t, rename)
	c := converterFor(t, definition(hook.ClientConfig(), "v1"))
	recorder := trace.NewRecorder("test", trace.DefaultLimits)
	ctx, journey := recorder.Begin(t.Context(), trace.Request{Method: "GET"})
	journey.SetLevel(trace.Objects)
	in := widget(v1, "a", map[string]any{"size": int64(1)})
	if _, err := c.Convert(ctx, &in, v2); err != nil {
		t.Fatal(err)
	}
	journey.Finish(trace.Response{})
	taken := journey.Record().Steps
	if len(taken) != 2 || taken[0].ID != steps.CRDConvert || taken[1].ID != steps.CRDWebhook || taken[1].Parent != 0 {
		t.Fatalf("got %+v", taken)
	}
	if before, after := string(taken[0].Before), string(taken[0].After); !strings.Contains(before, `"size":1`) || !strings.Contains(after, `"length":1`) {
		t.Errorf("%s became %s", before, after)
	}
	if taken[1].Subject != hook.Server.URL+"/convert" {
		t.Errorf("asked %s", taken[1].Subject)
	}
	attrs := map[string]int64{}
	for _, attr := range taken[1].Attrs {
		attrs[attr.Name] = attr.Int
	}
	if attrs["objects"] != 1 || attrs["attempts"] != 1 {
		t.Errorf("got %v", taken[1].Attrs)
	}
}
