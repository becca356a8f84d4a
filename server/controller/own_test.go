package controller_test

import (
	"context"
	"encoding/json"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/server/options"
)

// await reads a watch until it has shown an object of each name.
func await(t *testing.T, w watch.Interface, err error, names ...string) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	seen := map[string]any{}
	for event := range w.ResultChan() {
		m, err := meta.Accessor(event.Object)
		if err != nil {
			t.Fatalf("%v: %v", event.Object, err)
		}
		seen[m.GetName()] = event.Object
		missing := false
		for _, name := range names {
			missing = missing || seen[name] == nil
		}
		if !missing {
			return seen
		}
	}
	t.Fatalf("the watch ended; it showed %d objects, not all of %v", len(seen), names)
	return nil
}

func TestFlowControlObjects(t *testing.T) {
	c, _ := startWith(t, options.New(), t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var names []string
	want := map[string]*flowcontrolv1.FlowSchema{}
	for _, s := range append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...) {
		names, want[s.Name] = append(names, s.Name), s
	}
	w, err := c.FlowcontrolV1().FlowSchemas().Watch(ctx, metav1.ListOptions{})
	for name, obj := range await(t, w, err, names...) {
		s := obj.(*flowcontrolv1.FlowSchema)
		if s.Generation != 1 || s.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] != "true" || s.Spec.MatchingPrecedence != want[name].Spec.MatchingPrecedence {
			t.Errorf("%s: %+v", name, s)
		}
	}
	names = nil
	for _, l := range append(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...) {
		names = append(names, l.Name)
	}
	w, err = c.FlowcontrolV1().PriorityLevelConfigurations().Watch(ctx, metav1.ListOptions{})
	await(t, w, err, names...)
}

func TestAPIServices(t *testing.T) {
	c, _ := startWith(t, options.New(), t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const path = "/apis/apiregistration.k8s.io/v1/apiservices"
	missing := `{"metadata":{"name":"v1.a.example.com"},"spec":{"group":"a.example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1,"service":{"namespace":"default","name":"no"}}}`
	if err := c.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(missing)).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	definition := `{"metadata":{"name":"things.b.example.com"},"spec":{"group":"b.example.com","scope":"Cluster","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
		"versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	if err := c.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").SetHeader("Content-Type", "application/json").Body([]byte(definition)).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	stream, err := c.RESTClient().Get().AbsPath(path).Param("watch", "true").SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	labels, conditions := map[string]string{}, map[string]apiregistrationv1.APIServiceCondition{}
	for decoder := json.NewDecoder(stream); labels["v2.b.example.com"] == "" || labels["v1."] == "" || conditions["v1.a.example.com"].Reason == ""; {
		var event struct{ Object apiregistrationv1.APIService }
		if err := decoder.Decode(&event); err != nil {
			t.Fatalf("after %v: %v", labels, err)
		}
		s := event.Object
		labels[s.Name] = s.Labels["kube-aggregator.kubernetes.io/automanaged"]
		if len(s.Status.Conditions) > 0 {
			conditions[s.Name] = s.Status.Conditions[0]
		}
	}
	if labels["v1."] != "onstart" || labels["v2.b.example.com"] != "true" || labels["v1.a.example.com"] != "" {
		t.Errorf("labels %v", labels)
	}
	if local := conditions["v1."]; local.Reason != "Local" || local.Status != apiregistrationv1.ConditionTrue {
		t.Errorf("a local one is %+v", local)
	}
	if m := conditions["v1.a.example.com"].Message; m != `service/no in "default" is not present` {
		t.Errorf("one without its service: %s", m)
	}
}
