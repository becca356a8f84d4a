package server_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
)

// TestCauses follows a definition from its create to what serves it, forth by what each journey caused, and back by the causes.
func TestCauses(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.define(t, cronTab("g.example.com"))
	if code := r.read(t, "/apis/g.example.com/v1/crontabs", &metav1.List{}); code != http.StatusOK {
		t.Fatalf("the list: %d", code)
	}
	one := func(filter string) *v1alpha1.Journey {
		t.Helper()
		found := r.journeysOf(t, "?filter="+url.QueryEscape(filter))
		if len(found) != 1 {
			t.Fatalf("%s finds %d journeys: %+v", filter, len(found), found)
		}
		return r.journeyOf(t, found[0].Name)
	}
	created := one("verb:create resource:customresourcedefinitions")
	named := one("cause:" + created.Name + " agent:naming")
	established := one("cause:" + named.Name + " agent:establishing")
	installed := one("verb:install cause:" + established.Name)
	read := one("verb:list resource:crontabs")

	if created.Status.Cause != nil || read.Status.Cause != nil {
		t.Errorf("a client's requests have the causes %+v and %+v", created.Status.Cause, read.Status.Cause)
	}
	for i, link := range []struct{ from, to *v1alpha1.Journey }{{created, named}, {named, established}, {established, installed}} {
		if cause := link.to.Status.Cause; cause == nil || cause.Journey != link.from.Name || cause.Revision != link.from.Status.Revision {
			t.Errorf("link %d: the cause is %+v, want %s at %d", i, cause, link.from.Name, link.from.Status.Revision)
		}
		leadsTo(t, r, link.from, link.to)
	}
	leadsTo(t, r, read, installed)
	for _, j := range []*v1alpha1.Journey{named, established} {
		if j.Spec.User != "system:apiserver" || j.Spec.Subresource != "status" || j.Status.Code != http.StatusOK || len(j.Status.Steps) == 0 {
			t.Errorf("%+v", j.Spec)
		}
	}
	lines := story.Tell(created, lang.English).Lines()
	want := "Then kx/naming-controller did update customresourcedefinitions/status at revision "
	if !slices.ContainsFunc(lines, func(l story.Line) bool { return len(l.Text) > len(want) && l.Text[:len(want)] == want }) {
		t.Errorf("the story of the create does not tell of it: %+v", lines)
	}
}

// leadsTo waits until a journey names what it caused, with its revision: who is told of a write may be quicker than its writer.
func leadsTo(t *testing.T, r *running, from, to *v1alpha1.Journey) {
	t.Helper()
	until(t, from.Name+" names "+to.Name, func() bool {
		*from = *r.journeyOf(t, from.Name)
		return slices.ContainsFunc(from.Status.Effects, func(e v1alpha1.Effect) bool {
			return e.Journey == to.Name && e.UserAgent == to.Spec.UserAgent && e.Revision == to.Status.Revision
		})
	})
}
