package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
)

// The demo shows newcomers a resource of their own, two objects of it, and typical events of one object. All of it
// goes over the API, as if the user had sent it.
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
	s.host.Say("creating the definition of CronTab and two objects of it, and fighting over one ...")
	return s.host.Do(func() func() tea.Cmd {
		ctx, cancel := context.WithTimeout(s.host.Context(), time.Minute)
		defer cancel()
		err := create(ctx, s.host.API())
		return func() tea.Cmd {
			if err != nil {
				s.host.Complain(err.Error())
				return nil
			}
			s.host.Say(s.phrase(
				"the demo is there: %s walks this GET, %s tells it; above: two writers of one revision, so a 409, and a patch tried twice",
				keys.Next.Key(), keys.Tell.Key()))
			return nil
		}
	})
}

// create creates the demo. Existing objects stay as they are. The last request is a GET.
func create(ctx context.Context, server *api.Client) error {
	for i, r := range demo {
		if err := server.JSON(ctx, r, nil); err != nil && api.Code(err) != http.StatusConflict {
			return fmt.Errorf("create the demo: %w", err)
		}
		if i > 0 {
			continue
		}
		if err := awaitEstablished(ctx, server); err != nil {
			return fmt.Errorf("create the demo: %w", err)
		}
	}
	for _, do := range []func(context.Context, *api.Client) error{playConflict, playRace} {
		if err := do(ctx, server); err != nil {
			return fmt.Errorf("play the demo: %w", err)
		}
	}
	if err := server.JSON(ctx, api.Request{Path: demoObject, Asked: true}, nil); err != nil {
		return fmt.Errorf("play the demo: %w", err)
	}
	return nil
}

// demoObject is the object that the demo's writers contend for.
const demoObject = demoObjects + "/nightly"

// playConflict plays a conflict: two writers read the same revision of the object, and both update it.
func playConflict(ctx context.Context, server *api.Client) error {
	writers := [...]string{"first-writer", "second-writer"}
	var read [len(writers)]map[string]any
	for i, name := range writers {
		get := api.Request{Path: demoObject, Header: http.Header{"User-Agent": {name}}, Asked: true}
		if err := server.JSON(ctx, get, &read[i]); err != nil {
			return err
		}
	}
	for i, name := range writers {
		read[i]["spec"] = map[string]any{"cronSpec": "0 4 * * *", "image": "backup:" + strconv.FormatInt(time.Now().UnixNano(), 36)}
		body, err := json.Marshal(read[i])
		if err != nil {
			return err
		}
		err = server.JSON(ctx, api.Request{Method: http.MethodPut, Path: demoObject + "?fieldManager=" + name,
			Header: http.Header{"User-Agent": {name}}, Body: body}, nil)
		if err != nil && api.Code(err) != http.StatusConflict {
			return err
		}
	}
	return nil
}

// demoRace is the fault that delays the first transaction of a merge patch until another writer has committed: then it
// is removed, which ends the delay.
const demoRace = "demo-race"

// playRace sends a patch while another writer commits first, so that the server applies it twice. It does nothing on a
// server that refuses faults.
func playRace(ctx context.Context, server *api.Client) error {
	untraced := http.Header{"Kx-Trace": {"off"}}
	fault := api.Request{Method: http.MethodPost, Path: api.KX + "/faults", Header: untraced, Body: []byte(`{
  "apiVersion": "kx.dev/v1alpha1", "kind": "Fault", "metadata": {"name": "` + demoRace + `"},
  "spec": {"filter": "step:etcd.txn resource:crontabs name:nightly type:merge-patch", "effect": "Delay", "delay": "10s", "count": 1}}`)}
	at := fault.Path + "/" + demoRace
	remove := func() { _ = server.JSON(ctx, api.Request{Method: http.MethodDelete, Path: at, Header: untraced}, nil) }
	remove() // a screen that was killed in the middle has left one
	defer remove()
	switch err := server.JSON(ctx, fault, nil); api.Code(err) {
	case http.StatusForbidden, http.StatusNotFound:
		return nil
	default:
		if err != nil {
			return err
		}
	}
	now := time.Now().Format(time.RFC3339Nano)
	patched := make(chan error, 1)
	go func() {
		patched <- patch(ctx, server, "merge-patch+json", "", `{"metadata":{"annotations":{"example.com/slow":"`+now+`"}}}`)
	}()
	for {
		var f v1alpha1.Fault
		if err := server.JSON(ctx, api.Request{Path: at, Header: untraced}, &f); err != nil {
			return err
		}
		if f.Status.Hits > 0 {
			break
		}
		select {
		case err := <-patched: // nothing held it back
			return err
		case <-time.After(demoPause):
		}
	}
	err := patch(ctx, server, "apply-patch+yaml", "?fieldManager=another-writer",
		`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"annotations":{"example.com/fast":"`+now+`"}}}`)
	remove()
	return errors.Join(err, <-patched)
}

// patch patches demoObject.
func patch(ctx context.Context, server *api.Client, kind, query, body string) error {
	return server.JSON(ctx, api.Request{Method: http.MethodPatch, Path: demoObject + query,
		Header: http.Header{"Content-Type": {"application/" + kind}}, Body: []byte(body)}, nil)
}

// demoPause is the interval between two looks at a definition.
const demoPause = 20 * time.Millisecond

// awaitEstablished waits until the demo's definition is established: until then the server may answer 404 for its
// resource. The requests of the wait are not recorded, so that the list shows the demo's own requests and no
// failures.
func awaitEstablished(ctx context.Context, server *api.Client) error {
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
