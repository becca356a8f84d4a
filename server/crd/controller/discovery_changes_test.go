package controller

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsPage(t *testing.T) {
	for path, want := range map[string]bool{
		"/apis": true, "/apis/": true, "/apis/g": true, "/apis/g/": true, "/apis/g/v1": true, "/apis/g/v1/": true,
		"/apis/g/v1/crontabs": false, "/apis/g/v1/namespaces/n/crontabs": false, "/api/v1": false, "/": false, "": false, "/apisg": false,
	} {
		if isPage(path) != want {
			t.Errorf("%q is a page of discovery: %v", path, !want)
		}
	}
}

func definitionWith(name, group string, versions ...string) *Definition {
	d := &Definition{ObjectMeta: metav1.ObjectMeta{Name: name + "." + group}}
	d.Spec.Group = group
	for _, v := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v})
	}
	return d
}

func TestChanges(t *testing.T) {
	a, b, c := definitionWith("a", "g", "v1"), definitionWith("b", "g", "v1", "v2"), definitionWith("c", "h", "v1")
	laterB := definitionWith("b", "g", "v2", "v3")
	for _, tt := range []struct {
		before, now []*Definition
		want        []string
	}{
		{nil, nil, nil},
		{[]*Definition{a, b, c}, []*Definition{a, b, c}, nil},
		{nil, []*Definition{a, c}, []string{"g/v1", "h/v1"}},
		{[]*Definition{a, c}, nil, []string{"g/v1", "h/v1"}},
		{[]*Definition{a, b}, []*Definition{a, laterB}, []string{"g/v1", "g/v2", "g/v3"}},
		{[]*Definition{a, c}, []*Definition{b, c}, []string{"g/v1", "g/v2"}},
	} {
		var got []string
		for gv := range changes(tt.before, tt.now) {
			got = append(got, schema.GroupVersion.String(gv))
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("between %d and %d definitions changed %q, not %q", len(tt.before), len(tt.now), got, tt.want)
		}
	}
}
