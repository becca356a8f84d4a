package definition_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// fields are the sets of each version as text.
func fields(sets map[fieldpath.APIVersion]*fieldpath.Set) map[string]string {
	texts := map[string]string{}
	for version, set := range sets {
		texts[string(version)] = set.String()
	}
	return texts
}

func checkTerminating(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if d.DeletionTimestamp == nil || !slices.Equal(d.Finalizers, []string{apiextensions.CustomResourceCleanupFinalizer}) || d.Generation != 1 {
		t.Errorf("deleted: %+v", d.ObjectMeta)
	}
	c := condition(d, apiextensionsv1.Terminating)
	if c == nil || c.Status != apiextensionsv1.ConditionTrue || c.Reason != "InstanceDeletionPending" || c.LastTransitionTime.IsZero() ||
		c.Message != "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon" {
		t.Errorf("condition: %+v", c)
	}
}

// A definition waits for its objects to go.
func TestDelete(t *testing.T) {
	s := start(t)
	d := s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)

	checkTerminating(t, s.send(t, http.MethodDelete, item+"?dryRun=All", "", http.StatusOK))
	if now := s.send(t, http.MethodGet, item, "", http.StatusOK); now.ResourceVersion != d.ResourceVersion || now.DeletionTimestamp != nil {
		t.Errorf("a dry run left %+v", now.ObjectMeta)
	}
	const conflict = `Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com": precondition failed: `
	s.refused(t, http.MethodDelete, item, `{"preconditions":{"uid":"x"}}`, http.StatusConflict,
		conflict+"UID in precondition: x, UID in object meta: "+string(d.UID))
	s.refused(t, http.MethodDelete, item, `{"preconditions":{"resourceVersion":"1"}}`, http.StatusConflict,
		conflict+"ResourceVersion in precondition: 1, ResourceVersion in object meta: "+d.ResourceVersion)

	deleted := s.send(t, http.MethodDelete, item, fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, d.UID, d.ResourceVersion), http.StatusOK)
	checkTerminating(t, deleted)
	again := s.send(t, http.MethodDelete, item, "", http.StatusOK)
	checkTerminating(t, again)
	if !again.DeletionTimestamp.Equal(deleted.DeletionTimestamp) {
		t.Errorf("deleted again: %v, was deleted %v", again.DeletionTimestamp, deleted.DeletionTimestamp)
	}
	s.refused(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusConflict,
		`object is being deleted: customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com" already exists`)

	// A controller takes the finalizer off by the status, when nothing is left.
	deleted = s.send(t, http.MethodGet, item, "", http.StatusOK)
	deleted.Finalizers = nil
	s.put(t, item+"/status", deleted)
	s.refused(t, http.MethodGet, item, "", http.StatusNotFound, `customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com" not found`)
	s.refused(t, http.MethodDelete, item, "", http.StatusNotFound, `customresourcedefinitions.apiextensions.k8s.io "crontabs.stable.example.com" not found`)
}

// A collection is deleted as each of it is: nothing loses its finalizer on the way.
func TestDeleteCollection(t *testing.T) {
	s := start(t)
	create := func(group, label string) {
		t.Helper()
		body := strings.ReplaceAll(crdtest.Definition, "stable.example.com", group)
		body = strings.Replace(body, `"metadata": {`, `"metadata": {"labels": {"a": "`+label+`"}, `, 1)
		s.send(t, http.MethodPost, crdtest.Collection, body, http.StatusCreated)
	}
	create("one.example.com", "x")
	create("two.example.com", "x")
	create("three.example.com", "y")
	code, answer := s.Send(t, http.MethodDelete, crdtest.Collection+"?labelSelector=a%3Dx", nil)
	if code != http.StatusOK || !strings.Contains(string(answer), `"kind":"CustomResourceDefinitionList"`) || strings.Contains(string(answer), "three") {
		t.Errorf("%d: %s", code, answer)
	}
	for _, group := range []string{"one", "two"} {
		checkTerminating(t, s.send(t, http.MethodGet, crdtest.Collection+"/crontabs."+group+".example.com", "", http.StatusOK))
	}
	if d := s.send(t, http.MethodGet, crdtest.Collection+"/crontabs.three.example.com", "", http.StatusOK); d.DeletionTimestamp != nil {
		t.Errorf("deleted too: %+v", d.ObjectMeta)
	}
}
