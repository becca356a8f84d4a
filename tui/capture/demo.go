package capture

import (
	"context"
	"fmt"
	"net/http"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/api"
)

// demo is what a newcomer is offered: a resource of his own, and two objects of it. They are created over the API, as if
// he had done it.
var demo = []api.Request{
	{Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: []byte(`{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "crontabs.stable.example.com"},
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
	{Method: http.MethodPost, Path: "/apis/stable.example.com/v1/namespaces/default/crontabs", Body: []byte(`{
  "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "nightly"},
  "spec": {"cronSpec": "0 3 * * *", "image": "backup:1"}}`)},
	{Method: http.MethodPost, Path: "/apis/stable.example.com/v1/namespaces/default/crontabs", Body: []byte(`{
  "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "hourly"},
  "spec": {"cronSpec": "5 * * * *", "image": "report:1", "replicas": 2}}`)},
}

// demoMsg says how creating the demo went.
type demoMsg struct{ err error }

// noDemo is why the demo can't be created.
func (s *Screen) noDemo() string { return s.host.API().Absent() }

func (s *Screen) createDemo() tea.Cmd {
	s.host.Say("creating the definition of CronTab and two objects of it ...")
	return s.host.Do(func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.host.Context(), time.Minute)
		defer cancel()
		return demoMsg{create(ctx, s.host.API())}
	})
}

// demoPause is how long to wait for a definition that is not served yet.
const demoPause = 20 * time.Millisecond

// create creates the demo. What is there already stays as it is.
func create(ctx context.Context, server *api.Client) error {
	for i, r := range demo {
		err := server.JSON(ctx, r, nil)
		for api.Code(err) == http.StatusNotFound && i > 0 { // the definition is a moment ahead of what serves it
			select {
			case <-time.After(demoPause):
			case <-ctx.Done():
				return err
			}
			err = server.JSON(ctx, r, nil)
		}
		if err != nil && api.Code(err) != http.StatusConflict {
			return fmt.Errorf("create the demo: %w", err)
		}
	}
	return nil
}

func (s *Screen) demoCreated(msg demoMsg) {
	if msg.err != nil {
		s.host.Complain(msg.err.Error())
		return
	}
	s.host.Say("the demo is there: enter walks into the steps of a request, and kubectl get crontabs lists the objects")
}
