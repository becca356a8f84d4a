package again

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// TestOf makes requests of journeys that a server recorded: a create, a JSON patch, an apply and a delete.
func TestOf(t *testing.T) {
	journeys := tuitest.Recorded(t, "../../capture/testdata/journeys.json")
	const one = "/api/v1/namespaces/default/configmaps/pp"
	for i, want := range []struct{ method, uri, contentType, body, note string }{
		{"POST", "/api/v1/namespaces/default/configmaps", "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"pp"},"data":{"a":"b"}}`, ""},
		{"PATCH", one, mergePatchType, `{"data":{"x":"1"}}`, "the body of the patch is not recorded: this merge patch makes the same change"},
		{"PATCH", one + "?fieldManager=me", mergePatchType, `{"data":{"z":"b"}}`, "the body of the patch is not recorded: this merge patch makes the same change"},
		{"DELETE", one, "", "", ""},
	} {
		to, note := Replay(journeys[i], i == 0)
		if to.Method != want.method || to.URI != want.uri || to.ContentType != want.contentType || note != want.note || to.Held != (i == 0) {
			t.Errorf("%d: %+v, %s", i, to, note)
		}
		var body bytes.Buffer
		if len(to.Body) > 0 && json.Compact(&body, to.Body) != nil || body.String() != want.body {
			t.Errorf("%d: the body is %s", i, to.Body)
		}
	}
	bare := journeys[0].DeepCopy()
	bare.Status.Steps = nil
	if to, note := Replay(bare, true); to.Body != nil || note == "" || to.Held {
		t.Errorf("%+v %q", to, note)
	}
	bare.Spec.Method = "PATCH"
	if to, note := Replay(bare, true); to.Body != nil || note == "" || to.Held {
		t.Errorf("%+v %q", to, note)
	}
	secret := journeys[0].DeepCopy()
	secret.Spec.Resource = "secrets"
	if to, note := Replay(secret, true); note == "" || to.Held {
		t.Error("a Secret that is masked would be sent at once, or nobody is told")
	}
	if to, note := Replay(&v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "GET", URI: "/version"}}, false); to.URI != "/version" || note != "" {
		t.Errorf("%+v %q", to, note)
	}
}
