package capture

import (
	"context"
	"fmt"
	"net/http"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/tui/api"
)

// The demo is what a newcomer is offered: a resource of his own, and two objects of it. They are created over the API, as
// if he had done it.
const (
	demoDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	demoName        = "crontabs.stable.example.com"
	demoObjects     = "/apis/stable.example.com/v1/namespaces/default/crontabs"
)

var demo = []api.Request{
	{Method: http.MethodPost, Path: demoDefinitions, Body: []byte(`{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "` + demoName + `"},
  "spec": {
    "group": "stable.example.com", "scope": "Namespaced",
    "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]},
    "versions": [{
      "name": "v1", "served": true, "storage": true,
      "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
      "additionalPrinterColumns": [{"name": "Schedule", "type": "string", "jsonPath": ".spec.cronSpec"}],
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "required": ["cronSpec"], "properties": {
          "cronSpec": {"type": "string", "minLength": 9},
          "image": {"type": "string"},
          "replicas": {"type": "integer", "minimum": 0, "default": 1}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}}}]}}`)},
	{Method: http.MethodPost, Path: demoObjects, Body: []byte(`{
  "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "nightly"},
  "spec": {"cronSpec": "0 3 * * *", "image": "backup:1"}}`)},
	{Method: http.MethodPost, Path: demoObjects, Body: []byte(`{
  "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "hourly"},
  "spec": {"cronSpec": "5 * * * *", "image": "report:1", "replicas": 2}}`)},
}

func (s *Screen) createDemo() tea.Cmd {
	s.host.Say("creating the definition of CronTab and two objects of it ...")
	return s.host.Do(func() func() tea.Cmd {
		ctx, cancel := context.WithTimeout(s.host.Context(), time.Minute)
		defer cancel()
		err := create(ctx, s.host.API())
		return func() tea.Cmd {
			if err != nil {
				s.host.Complain(err.Error())
				return nil
			}
			s.host.Say("the demo is there: enter walks into the steps of a request, and kubectl get crontabs lists the objects")
			return nil
		}
	})
}

// create creates the demo. What is there already stays as it is.
func create(ctx context.Context, server *api.Client) error {
	for i, r := range demo {
		if err := server.JSON(ctx, r, nil); err != nil && api.Code(err) != http.StatusConflict {
			return fmt.Errorf("create the demo: %w", err)
		}
		if i > 0 {
			continue
		}
		if err := established(ctx, server); err != nil {
			return fmt.Errorf("create the demo: %w", err)
		}
	}
	return nil
}

// demoPause is how long to wait before a definition is looked at again.
const demoPause = 20 * time.Millisecond

// established waits until the demo's definition is established: until then the server may answer 404 for what it
// defines. What it asks meanwhile is not recorded, so that the list shows what the demo creates, and no failures.
func established(ctx context.Context, server *api.Client) error {
	look := api.Request{Path: demoDefinitions + "/" + demoName, Header: http.Header{"Kx-Trace": {"off"}}}
	for {
		var definition struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := server.JSON(ctx, look, &definition); err != nil {
			return err
		}
		conditions := definition.Status.Conditions
		if meta.IsStatusConditionTrue(conditions, "Established") {
			return nil
		}
		if names := meta.FindStatusCondition(conditions, "NamesAccepted"); names != nil && names.Status == metav1.ConditionFalse {
			return fmt.Errorf("the server does not serve %s: %s", demoName, names.Message)
		}
		select {
		case <-time.After(demoPause):
		case <-ctx.Done():
			return fmt.Errorf("%s is not established: %w", demoName, ctx.Err())
		}
	}
}
