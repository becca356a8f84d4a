package handler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// ownedBy is an object with managers whose fields are n keys of data.
func ownedBy(n int, managers ...string) *corev1.ConfigMap {
	var keys strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, `,"f:n%06d":{}`, i)
	}
	obj := &corev1.ConfigMap{}
	for _, manager := range managers {
		obj.ManagedFields = append(obj.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{` + strings.TrimPrefix(keys.String(), ",") + `}}`),
		})
	}
	return obj
}

// texts are what steps say about n fields, managers or parameters.
func texts(n int) map[string]func(*trace.Step) {
	live, obj := ownedBy(n, "one", "two"), ownedBy(n, "two")
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("m%06d", i))
	}
	many, fewer := ownedBy(2, names...), ownedBy(1, names...)
	conflict := apierrors.NewConflict(corev1.Resource("configmaps"), "a", nil)
	for i := range n {
		conflict.ErrStatus.Details.Causes = append(conflict.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Field: fmt.Sprintf(".data.n%06d", i), Message: `conflict with "one"`,
		})
	}
	query := strings.Join(names, "=&")
	return map[string]func(*trace.Step){
		"moves": func(s *trace.Step) {
			sayOwners(s, live, obj, managerKey{"two", metav1.ManagedFieldsOperationApply, ""})
		},
		"managers": func(s *trace.Step) {
			sayOwners(s, many, fewer, managerKey{"m000000", metav1.ManagedFieldsOperationApply, ""})
		},
		"conflicts":  func(s *trace.Step) { sayConflicts(s, conflict) },
		"parameters": func(s *trace.Step) { s.WhyText(optionsInQuery, parametersOf(query)) },
	}
}

// TestTextsOfOwners: a step names a bounded number of what there is.
func TestTextsOfOwners(t *testing.T) {
	for name, say := range texts(2000) {
		ctx, j := trace.NewRecorder("p", trace.DefaultLimits).Begin(context.Background(), trace.Request{})
		_, step := trace.Start(ctx, steps.HandlerApply, "")
		say(step)
		step.End(nil)
		why := j.Record().Steps[0].Why
		if !strings.HasSuffix(why, " more") || len(why) > 4<<10 || max(strings.Count(why, "; "), strings.Count(why, ", ")) > trace.MaxListed+1 {
			t.Errorf("%s: %d bytes: %s", name, len(why), why)
		}
	}
}

func BenchmarkTexts(b *testing.B) {
	for name, say := range texts(20_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx, j := trace.NewRecorder("p", trace.DefaultLimits).Begin(context.Background(), trace.Request{})
				_, step := trace.Start(ctx, steps.HandlerApply, "")
				say(step)
				step.End(nil)
				j.Finish(trace.Response{})
			}
		})
	}
}
