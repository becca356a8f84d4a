package discovery

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/crd/controller/work"
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

func definition(name, group string, versions ...string) *work.Definition {
	d := &work.Definition{ObjectMeta: metav1.ObjectMeta{Name: name + "." + group}}
	d.Spec.Group = group
	for _, v := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v})
	}
	return d
}

func TestChanges(t *testing.T) {
	a, b, c := definition("a", "g", "v1"), definition("b", "g", "v1", "v2"), definition("c", "h", "v1")
	laterB := definition("b", "g", "v2", "v3")
	for _, tt := range []struct {
		before, now []*work.Definition
		want        []string
	}{
		{nil, nil, nil},
		{[]*work.Definition{a, b, c}, []*work.Definition{a, b, c}, nil},
		{nil, []*work.Definition{a, c}, []string{"g/v1", "h/v1"}},
		{[]*work.Definition{a, c}, nil, []string{"g/v1", "h/v1"}},
		{[]*work.Definition{a, b}, []*work.Definition{a, laterB}, []string{"g/v1", "g/v2", "g/v3"}},
		{[]*work.Definition{a, c}, []*work.Definition{b, c}, []string{"g/v1", "g/v2"}},
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
