package controller_test

import (
	"context"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

func TestFlowControlObjects(t *testing.T) {
	t.Parallel()
	c, _ := controllertest.Serve(t, options.New(), "")
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	var names []string
	want := map[string]*flowcontrolv1.FlowSchema{}
	for _, s := range append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...) {
		names, want[s.Name] = append(names, s.Name), s
	}
	w, err := c.FlowcontrolV1().FlowSchemas().Watch(ctx, metav1.ListOptions{})
	for name, obj := range controllertest.Await(t, w, err, names...) {
		s := obj.(*flowcontrolv1.FlowSchema)
		if s.Generation != 1 || s.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] != "true" || s.Spec.MatchingPrecedence != want[name].Spec.MatchingPrecedence {
			t.Errorf("%s: %+v", name, s)
		}
	}
	names = nil
	for _, l := range append(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...) {
		names = append(names, l.Name)
	}
	w, err = c.FlowcontrolV1().PriorityLevelConfigurations().Watch(ctx, metav1.ListOptions{})
	controllertest.Await(t, w, err, names...)
}
