package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestLastBookmark: a watch whose client has set it a time ends with a bookmark, however short the time is, so that the
// client goes on from there and not from what it saw last.
func TestLastBookmark(t *testing.T) {
	t.Parallel()
	r := start(t)
	var maps metav1.List
	r.read(t, "/api/v1/configmaps", &maps)
	watch := "/api/v1/configmaps?watch=true&timeoutSeconds=4&allowWatchBookmarks=true&resourceVersion=" + maps.ResourceVersion
	res, body := ask(t, r.httpClient(t), "GET", r.URL+watch, nil)
	var event struct {
		Type   string
		Object metav1.PartialObjectMetadata
	}
	if err := json.Unmarshal(body, &event); err != nil || res.StatusCode != http.StatusOK || event.Type != "BOOKMARK" || event.Object.ResourceVersion == "" {
		t.Errorf("%s: %q", res.Status, body)
	}
}

// TestWatchThatFails: a watch that can't be had is answered with 200 and an ERROR event, and its journey says that it failed.
func TestWatchThatFails(t *testing.T) {
	t.Parallel()
	r := start(t)
	res, body := ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/configmaps?watch=true&resourceVersion=1000000", nil)
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), `{"type":"ERROR"`) {
		t.Errorf("%s: %s", res.Status, body)
	}
	var journeys v1alpha1.JourneyList
	r.read(t, "/apis/kx.dev/v1alpha1/journeys?fieldSelector=spec.verb=watch,spec.user=kx-admin", &journeys)
	if len(journeys.Items) != 1 || journeys.Items[0].Status.Code != http.StatusOK || journeys.Items[0].Status.WatchError != http.StatusGatewayTimeout {
		t.Fatalf("%+v", journeys.Items)
	}
	_, table := ask(t, r.httpClient(t), "GET", r.URL+"/apis/kx.dev/v1alpha1/journeys/"+journeys.Items[0].Name, nil,
		"Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	if !strings.Contains(string(table), `"200/504"`) {
		t.Errorf("%s", table)
	}
}
