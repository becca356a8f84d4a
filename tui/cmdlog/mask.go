package cmdlog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/tui/api"
)

// maskRequest returns the body of a request without secrets, and whether it had any. ok is false if the body can't be
// masked and may have some.
func maskRequest(r api.Request) (body []byte, hidden, ok bool) {
	words := segments(r.Path)
	switch {
	case len(r.Body) == 0:
		return nil, false, true
	case strings.HasPrefix(r.Path, api.KX) && slices.Contains(words, "step"):
		// An edit is a patch of an object, which does not say whether the object is a Secret.
		command := v1alpha1.JourneyCommand{}
		err := json.Unmarshal(r.Body, &command)
		return r.Body, false, err == nil && command.Spec.Patch == nil
	}
	confidential := slices.ContainsFunc(words, func(word string) bool { return confidentialWords[word] })
	text, err := yaml.YAMLToJSON(r.Body)
	if err == nil {
		body, err = mask.JSON(text, confidential)
	}
	switch {
	case bytes.Contains(r.Body, []byte("\n---")) || bytes.Contains(r.Body, []byte("\n...")):
		return nil, false, false // only the first document was read
	case err != nil:
		return r.Body, false, !confidential && !bytes.Contains(r.Body, []byte("Secret"))
	case bytes.Equal(body, text):
		return r.Body, false, true
	}
	return body, true, true
}

// confidentialWords are the segments of paths whose bodies package mask calls confidential. An object with such a name
// is masked too, without need.
var confidentialWords = map[string]bool{"secrets": true, "token": true, "tokenreviews": true}

// segments returns the parts of a path as the server reads them.
func segments(path string) []string {
	path, _, _ = strings.Cut(path, "?")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return strings.Split(path, "/")
}
