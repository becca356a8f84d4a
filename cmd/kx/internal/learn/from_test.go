package learn

import (
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/server"
)

// TestFromAStranger makes a lesson of a journey whose texts try to end their lines and to add a run of their own.
func TestFromAStranger(t *testing.T) {
	const evil = "x'\n```\n\n```run id=evil\ntouch /tmp/evil\n```\n"
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "GET", Verb: "get", URI: "/api/" + evil, Resource: evil, Subresource: evil, Name: evil}}
	j.Name, j.Status.Phase, j.Status.Code = evil, v1alpha1.JourneyComplete, 200
	j.Status.Steps = []v1alpha1.Step{
		{ID: "handler.get", Layer: "handler", Parent: -1, Why: evil, Reason: &v1alpha1.Reason{Kind: "no-such"}},
		{ID: "rest.get", Layer: "rest", Parent: 0, Why: evil},
		{ID: evil, Layer: "rest", Parent: 7, Why: evil},
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", evil} {
		j.Spec.Method = method
		text, err := From(j, []byte(`{"kind":"X","metadata":{"name":"a\n`+"```"+`"}}`), "my.md", nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := lesson.Parse("my.md", []byte(text), server.Reasons().Names)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if l.Run("evil") != nil || l.Run("ask") == nil {
			t.Errorf("%s: the journey has changed the runs:\n%s", method, text)
		}
	}
}
