package again

import (
	"encoding/json"
	"net/url"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/screen"
)

const mergePatchType = "application/merge-patch+json"

const unrecorded = "its body is not recorded: kx trace record has the server record those of the next requests"

// Replay turns a recorded request into one that can be sent again: a target for the screen Send, and a note about
// differences from the original, if there are any. A request that would act differently is not to be sent without the
// user's review. A journey has objects only if they were recorded, and never the bytes from the client: a patch's body
// is rebuilt from the patch's effect.
func Replay(j *v1alpha1.Journey, held bool) (to screen.ToSend, note string) {
	to = screen.ToSend{Method: j.Spec.Method, URI: j.Spec.URI, Held: held}
	switch j.Spec.Method {
	case v1alpha1.MethodInstall:
		to.Method = "GET"
		return to, "no request made this: here is one for what was installed"
	case "POST", "PUT":
		to.ContentType = "application/json"
		if to.Body = decoded(j); to.Body == nil {
			to.Held = false
			return to, unrecorded
		}
	case "PATCH":
		to.ContentType = j.Spec.ContentType
		if to.Body = changed(j); to.Body == nil {
			to.Held = false
			return to, unrecorded
		}
		to.ContentType, to.URI = mergePatchType, withoutForce(j.Spec.URI)
		note = "the body of the patch is not recorded: this merge patch makes the same change"
	}
	if to.Body != nil && j.Spec.Resource == "secrets" {
		to.Held, note = false, "the values of the Secret are masked in it"
	}
	return to, note
}

// decoded returns the object that the server decoded from the body.
func decoded(j *v1alpha1.Journey) []byte {
	for i := range j.Status.Steps {
		if s := &j.Status.Steps[i]; steps.InfoOf(s.ID).Object.Input == steps.Body && s.After != nil {
			return s.After.Raw
		}
	}
	return nil
}

// changed returns a merge patch with the same effect as the recorded patch.
func changed(j *v1alpha1.Journey) []byte {
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if steps.InfoOf(s.ID).Object.Input != steps.Patch || s.After == nil {
			continue
		}
		if s.Before == nil {
			return nil // it made the object: a merge patch can't
		}
		patch, err := jsonpatch.CreateMergePatch(s.Before.Raw, s.After.Raw)
		if err == nil {
			patch, err = byClients(patch)
		}
		if err == nil {
			return patch
		}
	}
	return nil
}

// byClients drops the fields that the server writes itself from a patch.
func byClients(patch []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(patch, &object); err != nil {
		return nil, err
	}
	if m, ok := object["metadata"].(map[string]any); ok {
		for _, name := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"} {
			delete(m, name)
		}
		if len(m) == 0 {
			delete(object, "metadata")
		}
	}
	return json.Marshal(object)
}

// withoutForce drops a parameter that only an apply may have.
func withoutForce(uri string) string {
	path, query, ok := strings.Cut(uri, "?")
	q, err := url.ParseQuery(query)
	if !ok || err != nil {
		return uri
	}
	q.Del("force")
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
