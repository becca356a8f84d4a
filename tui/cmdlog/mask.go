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

// maskRequest returns the body of a request without secrets, and whether that hid some. ok is false if the body may
// have some and can't be read.
func maskRequest(r api.Request) (body []byte, hidden, ok bool) {
	words := segments(r.Path)
	switch {
	case len(r.Body) == 0:
		return nil, false, true
	case strings.HasPrefix(r.Path, api.KX) && slices.Contains(words, "step"):
		// An edit has a part of any object, which does not say what it is of.
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
	case err != nil:
		return r.Body, false, !confidential
	case bytes.Equal(body, text):
		return r.Body, false, true
	}
	return body, true, true
}

// confidentialWords are the segments of paths whose bodies package mask calls confidential. An object that has such a
// name is masked for nothing.
var confidentialWords = map[string]bool{"secrets": true, "token": true, "tokenreviews": true}

// segments are the parts of a path as the server reads them.
func segments(path string) []string {
	path, _, _ = strings.Cut(path, "?")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return strings.Split(path, "/")
}
