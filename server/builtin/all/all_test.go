package all_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// TestTable makes the storages of every resource and compares them with what the resource declares.
func TestTable(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	for _, group := range all.Groups(all.Needs{EventTTL: time.Hour}) {
		s := runtime.NewScheme()
		if err := group.AddToScheme(s); err != nil {
			t.Fatal(err)
		}
		if got := s.PrioritizedVersionsForGroup(group.Name()); len(got) != len(group.Versions) || got[0] != group.Versions[0].GroupVersion {
			t.Errorf("group %q has versions %v", group.Name(), got)
		}
		for _, r := range group.Resources {
			storages := builtintest.Storages(t, r, etcd)
			for version, subresources := range r.Versions() {
				if !slices.Contains(s.PrioritizedVersionsForGroup(group.Name()), version) {
					t.Errorf("%s is served in %s, which group %q has not", r.Name(), version, group.Name())
				}
				for _, sub := range subresources {
					if storages[sub] == nil {
						t.Errorf("%s/%s has no storage", r.Name(), sub)
					}
				}
			}
			stored := r.StoredIn()
			// The type of objects that two groups share is the other group's.
			if stored.Empty() || stored.Group != group.Name() {
				continue
			}
			if kinds, _, err := s.ObjectKinds(storages[""].New()); err != nil || kinds[0].GroupVersion() != stored {
				t.Errorf("%s is stored in %s as %v, %v", r.Name(), stored, kinds, err)
			}
			if kinds, _, err := s.ObjectKinds(storages[""].(rest.Lister).NewList()); err != nil || kinds[0].GroupVersion() != stored {
				t.Errorf("%s is listed in %s as %v, %v", r.Name(), stored, kinds, err)
			}
		}
	}
}
