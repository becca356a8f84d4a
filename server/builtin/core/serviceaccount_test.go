package core

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	serviceAccountDeclaration = builtin.Declare(ServiceAccount)

	serviceAccountRules, serviceAccountTables = serviceAccountDeclaration.Strategy(), serviceAccountDeclaration.Table()
)

func TestStrategy(t *testing.T) {
	ctx := context.Background()
	sa := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{
			Name: "robot", Namespace: "default", ResourceVersion: "1",
			Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"},
		},
		Secrets: []corev1.ObjectReference{{Kind: "Secret", Namespace: "elsewhere", Name: "token"}},
	}
	serviceAccountRules.PrepareForCreate(ctx, sa)
	if diff := cmp.Diff([]corev1.ObjectReference{{Name: "token"}}, sa.Secrets); diff != "" {
		t.Error(diff)
	}
	if errs := serviceAccountRules.Validate(ctx, sa); len(errs) > 0 {
		t.Error(errs)
	}
	const warning = "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
	if diff := cmp.Diff([]string{warning}, serviceAccountRules.WarningsOnCreate(ctx, sa)); diff != "" {
		t.Error(diff)
	}
	if w := serviceAccountRules.WarningsOnUpdate(ctx, sa, sa); w != nil {
		t.Errorf("warned again: %v", w)
	}
	if w := serviceAccountRules.WarningsOnUpdate(ctx, sa, &corev1.ServiceAccount{}); len(w) != 1 {
		t.Errorf("not warned: %v", w)
	}
	renamed := sa.DeepCopy()
	renamed.Name = "-"
	errs := serviceAccountRules.ValidateUpdate(ctx, renamed, sa)
	if len(errs) != 2 || errs[0].Error() != `metadata.name: Invalid value: "-": field is immutable` {
		t.Error(errs)
	}
}

func TestServiceAccountTable(t *testing.T) {
	sa := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "robot", CreationTimestamp: metav1.NewTime(time.Now().Add(-61 * time.Second))},
	}
	got, err := serviceAccountTables.ConvertToTable(context.Background(), sa, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"robot", "61s"}, got.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}
