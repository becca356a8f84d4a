package etcd3_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/store"
)

// TestCondition creates objects that depend on another one.
func TestCondition(t *testing.T) {
	errRefused := errors.New("the other object is not as it should be")
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for name, test := range map[string]struct {
		taken bool
		// changes is how often the other object changes, each time before the transaction.
		changes int
		// renewal is the error of a renewal.
		renewal error
		gone    bool
		want    func(error) bool
	}{
		"it holds":                            {want: is(nil)},
		"the key is taken":                    {taken: true, want: store.IsExist},
		"it is renewed":                       {changes: 1, want: is(nil)},
		"it is renewed again and again":       {changes: 20, want: is(nil)},
		"it is renewed, the key is taken":     {changes: 1, taken: true, want: store.IsExist},
		"it is not renewed":                   {changes: 1, renewal: errRefused, want: is(errRefused)},
		"it is not renewed, the key is taken": {changes: 1, renewal: errRefused, taken: true, want: is(errRefused)},
		"the other object is gone":            {gone: true, renewal: errRefused, want: is(errRefused)},
		"it never holds":                      {changes: 1000, want: apierrors.IsTooManyRequests},
	} {
		for way, write := range map[string]func(context.Context, store.Interface) error{
			"create": func(ctx context.Context, s store.Interface) error {
				return s.Create(ctx, key("new"), configMap("new", "new"), &corev1.ConfigMap{}, 0)
			},
			"update": func(ctx context.Context, s store.Interface) error {
				if test.taken { // an update would change what is there
					return s.Create(ctx, key("new"), configMap("new", "new"), &corev1.ConfigMap{}, 0)
				}
				return s.GuaranteedUpdate(ctx, key("new"), &corev1.ConfigMap{}, setData("new"), store.UpdateOptions{IgnoreNotFound: true})
			},
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				s, _, _ := shared(t, nil)
				ctx := store.WithCondition(t.Context(), store.Etcd{Prefix: "any"})
				condition := store.ConditionOf(ctx)
				revision := func(obj *corev1.ConfigMap) int64 {
					r, err := s.Versioner().ObjectResourceVersion(obj)
					if err != nil {
						t.Fatal(err)
					}
					return int64(r)
				}
				condition.Key, condition.Revision = key("other"), revision(create(t, s, "other", "0"))
				if test.taken {
					create(t, s, "new", "old")
				}
				changes := 0
				change := func() (at int64) {
					out := &corev1.ConfigMap{}
					if err := s.Get(t.Context(), key("other"), store.GetOptions{}, out); err != nil {
						t.Fatal(err)
					}
					at = revision(out)
					if changes < test.changes {
						changes++
						if err := s.GuaranteedUpdate(t.Context(), key("other"), out, setData(string(rune('a'+changes))), store.UpdateOptions{}); err != nil {
							t.Fatal(err)
						}
					}
					return at
				}
				change()
				if test.gone {
					if err := s.Delete(t.Context(), key("other"), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				condition.Renew = func(context.Context) (int64, error) {
					if test.renewal != nil {
						return 0, test.renewal
					}
					return change(), nil
				}
				err := write(ctx, s)
				if !test.want(err) {
					t.Errorf("got %v", err)
				}
				out := &corev1.ConfigMap{}
				if getErr := s.Get(t.Context(), key("new"), store.GetOptions{IgnoreNotFound: true}, out); getErr != nil {
					t.Fatal(getErr)
				}
				want := map[bool]string{true: "new"}[err == nil]
				if test.taken {
					want = "old"
				}
				if out.Data["data"] != want {
					t.Errorf("%q is stored, want %q", out.Data["data"], want)
				}
			})
		}
	}
}
