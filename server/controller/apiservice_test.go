package controller_test

import (
	"context"
	"encoding/json"
	"testing"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

func TestAPIServices(t *testing.T) {
	t.Parallel()
	c, _ := controllertest.Serve(t, options.New(), "")
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
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
