package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// journeysOf lists journeys.
func (r *running) journeysOf(t testing.TB, query string) []v1alpha1.Journey {
	t.Helper()
	var list v1alpha1.JourneyList
	if code := r.read(t, journeysPath+query, &list); code != http.StatusOK {
		t.Fatalf("the list of journeys %s: %d", query, code)
	}
	return list.Items
}

// TestInstalls asks for the installs, and for the requests beside them.
func TestInstalls(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, query := range []string{"", "?filter=" + url.QueryEscape("!verb:get"), "?filter=verb:*", "?filter=" + url.QueryEscape("user:system:apiserver")} {
		for _, j := range r.journeysOf(t, query) {
			if j.IsInstall() {
				t.Errorf("%q lists %s of %s", query, j.Name, j.Spec.URI)
			}
		}
	}
	all := r.journeysOf(t, "?filter=verb:install")
	taken, names := 0, map[string]bool{}
	for _, j := range all {
		taken += int(j.Status.StepCount)
		names[j.Name] = true
		if !j.IsInstall() || len(j.Status.Steps)+len(j.Status.Sentences) > 0 || j.Status.Phase != v1alpha1.JourneyComplete || j.Status.Started.IsZero() {
			t.Errorf("%+v", j)
		}
	}
	if len(names) != len(all) || len(all) < 50 {
		t.Errorf("%d installs have %d names", len(all), len(names))
	}
	// Each step is at most one note: most share some.
	if bytes := taken * 96; bytes > 1<<20 {
		t.Errorf("the notes of %d steps take up to %d bytes", taken, bytes)
	}
	if same := r.journeysOf(t, "?fieldSelector=spec.verb%3Dinstall"); !slices.EqualFunc(all, same, func(a, b v1alpha1.Journey) bool {
		return a.Name == b.Name && a.Spec == b.Spec && a.Status.Started.Equal(&b.Status.Started)
	}) {
		t.Errorf("a field selector finds %d installs of %d", len(same), len(all))
	}
	found := r.journeysOf(t, "?filter="+url.QueryEscape("verb:install resource:events reason:uncached-events group:events.k8s.io"))
	if len(found) != 1 {
		t.Fatalf("%d installs of events", len(found))
	}
	whole := &v1alpha1.Journey{}
	r.read(t, journeysPath+"/"+found[0].Name, whole)
	var undecorated *v1alpha1.Step
	for i := range whole.Status.Steps {
		s := &whole.Status.Steps[i]
		if s.ID == steps.StorageUndecorated.String() {
			undecorated = s
		}
		if int(s.Parent) >= i || s.File == "" || s.Line == 0 {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if undecorated == nil || undecorated.Function != "store/backend.UndecoratedStorage" || len(whole.Status.Steps) != int(found[0].Status.StepCount) {
		t.Errorf("%+v", whole.Status.Steps)
	}
	if code := r.read(t, journeysPath+"/"+strings.TrimRight(found[0].Name, "0123456789")+"0", whole); code != http.StatusNotFound {
		t.Errorf("an install that is not there: %d", code)
	}
}

// TestInstallsOfADefinition follows the installs while a definition comes and goes.
func TestInstallsOfADefinition(t *testing.T) {
	t.Parallel()
	r := start(t)
	client := r.httpClient(t)
	res, err := client.Get(r.URL + journeysPath + "?watch=true&resourceVersion=0&filter=" + url.QueryEscape("verb:install resource:crontabs"))
	must(t, err)
	defer res.Body.Close()
	events := json.NewDecoder(res.Body)
	next := func() (string, *v1alpha1.Journey) {
		var e struct {
			Type   string
			Object v1alpha1.Journey
		}
		must(t, events.Decode(&e))
		return e.Type, &e.Object
	}
	d := r.define(t, cronTab("g.example.com"))
	if got := r.journeysOf(t, "?filter="+url.QueryEscape("verb:install resource:crontabs")); len(got) != 0 {
		t.Errorf("it is installed before anybody asks: %+v", got)
	}
	if code := r.read(t, "/apis/g.example.com/v1/crontabs", &metav1.List{}); code != http.StatusOK {
		t.Fatalf("the list: %d", code)
	}
	kind, made := next()
	if kind != "ADDED" || made.Spec.Resource != "crontabs" || made.Spec.UserAgent != "kx/custom-resources" {
		t.Fatalf("%s %+v", kind, made)
	}
	whole := &v1alpha1.Journey{}
	r.read(t, journeysPath+"/"+made.Name, whole)
	if len(whole.Status.Steps) == 0 || whole.Status.Steps[0].ID != steps.InstallDefinition.String() || whole.Status.Steps[0].Reason.Kind != "first-request-builds" {
		t.Errorf("%+v", whole.Status.Steps)
	}
	r.undefine(t, d.Name)
	if kind, gone := next(); kind != "DELETED" || gone.Name != made.Name {
		t.Errorf("%s %+v", kind, gone)
	}
}
