package kxapi

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

func TestMoments(t *testing.T) {
	m := NewMoments(nil)
	r := m.resource().storage().(lister)
	if _, err := r.Get(t.Context(), "0s", &metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("nothing was seen: %v", err)
	}
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	m.saw(ago(time.Hour), 10)
	m.saw(ago(50*time.Minute), 20)
	m.saw(ago(45*time.Minute), 20)
	m.saw(ago(30*time.Minute), 30)
	for _, test := range []struct {
		name string
		want int64
		is   func(error) bool
	}{
		{"5m", 30, nil},
		{"-30m30s", 20, nil},
		{"45m", 20, nil},
		{"55m", 10, nil},
		{"2h", 0, apierrors.IsResourceExpired},
		{ago(52 * time.Minute).Format(time.RFC3339Nano), 10, nil},
		{now.Add(time.Hour).Format(time.RFC3339), 0, apierrors.IsBadRequest},
		{"yesterday", 0, apierrors.IsBadRequest},
		{"--5m", 0, apierrors.IsBadRequest},
	} {
		obj, err := r.Get(t.Context(), test.name, &metav1.GetOptions{})
		if test.is != nil {
			if !test.is(err) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err != nil || obj.(*v1alpha1.Moment).Status.Revision != test.want {
			t.Errorf("%s: %+v, %v, want %d", test.name, obj, err, test.want)
		}
	}
	list, err := r.List(t.Context(), nil)
	if err != nil || len(list.(*v1alpha1.MomentList).Items) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	second := list.(*v1alpha1.MomentList).Items[1].Name
	list, err = r.List(t.Context(), &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", second)})
	if err != nil || len(list.(*v1alpha1.MomentList).Items) != 1 || list.(*v1alpha1.MomentList).Items[0].Status.Revision != 20 {
		t.Errorf("the second alone: %+v, %v", list, err)
	}
	list, err = r.List(t.Context(), &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"})})
	if err != nil || len(list.(*v1alpha1.MomentList).Items) != 0 {
		t.Errorf("those with a label: %+v, %v", list, err)
	}
	if _, err := r.List(t.Context(), &metainternalversion.ListOptions{ResourceVersion: "5"}); !apierrors.IsBadRequest(err) {
		t.Errorf("at a resourceVersion: %v", err)
	}
	m.saw(ago(2*time.Second), 15) // etcd was restored
	m.saw(ago(time.Second), 17)
	list, err = r.List(t.Context(), nil)
	if err != nil || len(list.(*v1alpha1.MomentList).Items) != 2 {
		t.Errorf("of the new history there is %+v, %v", list, err)
	}
	if obj, err := r.Get(t.Context(), "0s", &metav1.GetOptions{}); err != nil || obj.(*v1alpha1.Moment).Status.Revision != 17 {
		t.Errorf("now, in the new history: %+v, %v", obj, err)
	}
	if _, err := r.Get(t.Context(), "5m", &metav1.GetOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("before the new history: %v", err)
	}
	for i := range 2 * mostMoments {
		m.saw(now, int64(100+i))
	}
	if len(m.ring) != mostMoments || m.ring[mostMoments-1].revision != 99+2*mostMoments {
		t.Errorf("%d are kept, the last is %+v", len(m.ring), m.ring[len(m.ring)-1])
	}
}

// TestMomentsRun: an etcd that does not answer makes no moment, and the end of the context ends the asking.
func TestMomentsRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan bool)
	m := NewMoments(func(context.Context) (int64, error) {
		asked <- true
		return 0, errors.New("no answer")
	})
	done := make(chan bool)
	go func() { m.Run(ctx); close(done) }()
	<-asked
	cancel()
	<-done
	if len(m.ring) != 0 {
		t.Errorf("%+v", m.ring)
	}
}
