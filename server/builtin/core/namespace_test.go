package core

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	namespaceDeclaration = builtin.Declare(Namespace)

	namespaceRules, namespaceTables, statusRules = namespaceDeclaration.Strategy(), namespaceDeclaration.Table(), namespaceDeclaration.StatusStrategy()

	finalizeRules = builtin.NewStatusStrategy(namespaceRules, "finalize", Namespace.Stored, finalize)
)

func named(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}
}

func TestNamespaceValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Namespace)
		want   []string
	}{
		"valid": {func(*corev1.Namespace) {}, nil},
		"name is a subdomain": {func(ns *corev1.Namespace) { ns.Name = "a.b" }, []string{
			`metadata.name: Invalid value: "a.b": must not contain dots`,
		}},
		"name too long": {func(ns *corev1.Namespace) { ns.Name = strings.Repeat("x", 64) }, []string{
			`metadata.name: Invalid value: "` + strings.Repeat("x", 64) + `": must be no more than 63 characters`,
		}},
		"in a namespace": {func(ns *corev1.Namespace) { ns.Namespace = "x" }, []string{`metadata.namespace: Forbidden: not allowed on this type`}},
		"finalizer": {func(ns *corev1.Namespace) { ns.Spec.Finalizers = []corev1.FinalizerName{"mine"} }, []string{
			`spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ns := named("a")
			tc.change(ns)
			if diff := cmp.Diff(tc.want, messages(namespaceRules.Validate(context.Background(), ns))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareForCreate(t *testing.T) {
	for name, tc := range map[string]struct{ in, want []corev1.FinalizerName }{
		"none": {nil, []corev1.FinalizerName{"kubernetes"}},
		"own":  {[]corev1.FinalizerName{"a.b/c"}, []corev1.FinalizerName{"a.b/c", "kubernetes"}},
		"both": {[]corev1.FinalizerName{"kubernetes", "a.b/c"}, []corev1.FinalizerName{"kubernetes", "a.b/c"}},
	} {
		ns := named("a")
		ns.Spec.Finalizers = tc.in
		ns.Status.Phase = corev1.NamespaceTerminating
		namespaceRules.PrepareForCreate(context.Background(), ns)
		if diff := cmp.Diff(tc.want, ns.Spec.Finalizers); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if ns.Status.Phase != corev1.NamespaceActive {
			t.Errorf("phase %s", ns.Status.Phase)
		}
	}
}

func TestUpdatesKeepWhatIsNotTheirs(t *testing.T) {
	old := named("a")
	old.Spec.Finalizers = []corev1.FinalizerName{"kubernetes"}
	old.Status.Phase = corev1.NamespaceActive
	changed := func() *corev1.Namespace {
		ns := named("a")
		ns.Status.Phase = corev1.NamespaceTerminating
		return ns
	}
	ctx := context.Background()

	main, status, finalize := changed(), changed(), changed()
	namespaceRules.PrepareForUpdate(ctx, main, old)
	statusRules.PrepareForUpdate(ctx, status, old)
	finalizeRules.PrepareForUpdate(ctx, finalize, old)
	for name, tc := range map[string]struct {
		ns         *corev1.Namespace
		finalizers int
		phase      corev1.NamespacePhase
	}{
		"main":     {main, 1, corev1.NamespaceActive},
		"status":   {status, 1, corev1.NamespaceTerminating},
		"finalize": {finalize, 0, corev1.NamespaceActive},
	} {
		if len(tc.ns.Spec.Finalizers) != tc.finalizers || tc.ns.Status.Phase != tc.phase {
			t.Errorf("%s: %v %s", name, tc.ns.Spec.Finalizers, tc.ns.Status.Phase)
		}
	}
	want := []string{`status.Phase: Invalid value: "Terminating": may only be 'Active' if ` + "`deletionTimestamp` is empty"}
	if diff := cmp.Diff(want, messages(statusRules.ValidateUpdate(ctx, status, old))); diff != "" {
		t.Error(diff)
	}
	ending := old.DeepCopy()
	ending.DeletionTimestamp = new(metav1.Now())
	want = []string{`status.Phase: Invalid value: "Active": may only be 'Terminating' if ` + "`deletionTimestamp` is not empty"}
	if diff := cmp.Diff(want, messages(statusRules.ValidateUpdate(ctx, ending, ending))); diff != "" {
		t.Error(diff)
	}
	finalize.Spec.Finalizers = []corev1.FinalizerName{"a.b/c", "mine"}
	want = []string{`spec.finalizers[1]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}
	if diff := cmp.Diff(want, messages(finalizeRules.ValidateUpdate(ctx, finalize, old))); diff != "" {
		t.Error(diff)
	}
}

func TestNamespaceDefaults(t *testing.T) {
	ns := named("a")
	ns.Labels = map[string]string{"kubernetes.io/metadata.name": "wrong"}
	setNamespaceDefaults(ns)
	if ns.Labels["kubernetes.io/metadata.name"] != "a" || ns.Status.Phase != corev1.NamespaceActive {
		t.Errorf("got %v %v", ns.Labels, ns.Status)
	}
	generated := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}
	setNamespaceDefaults(generated)
	if generated.Labels != nil {
		t.Errorf("labelled before it has a name: %v", generated.Labels)
	}
	generated.Name = "a-x"
	namespaceRules.Canonicalize(generated)
	if generated.Labels["kubernetes.io/metadata.name"] != "a-x" {
		t.Errorf("got %v", generated.Labels)
	}
}

func TestPropagationFinalizers(t *testing.T) {
	policy := func(p metav1.DeletionPropagation) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{PropagationPolicy: &p}
	}
	for name, tc := range map[string]struct {
		has     []string
		options *metav1.DeleteOptions
		want    []string
	}{
		"unsaid":     {[]string{"orphan", "a.b/c"}, &metav1.DeleteOptions{}, []string{"orphan", "a.b/c"}},
		"orphan":     {[]string{"foregroundDeletion", "a.b/c"}, policy(metav1.DeletePropagationOrphan), []string{"a.b/c", "orphan"}},
		"foreground": {nil, policy(metav1.DeletePropagationForeground), []string{"foregroundDeletion"}},
		"background": {[]string{"orphan"}, policy(metav1.DeletePropagationBackground), []string{}},
		//lint:ignore SA1019 deprecated, and clients still send it
		"old, orphan": {nil, &metav1.DeleteOptions{OrphanDependents: new(true)}, []string{"orphan"}},
		//lint:ignore SA1019 deprecated, and clients still send it
		"old, not": {[]string{"orphan"}, &metav1.DeleteOptions{OrphanDependents: new(false)}, []string{"foregroundDeletion"}},
	} {
		ns := named("a")
		ns.Finalizers = tc.has
		setPropagationFinalizers(ns, tc.options)
		if diff := cmp.Diff(tc.want, ns.Finalizers); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestNamespaceTable(t *testing.T) {
	ns := named("a")
	ns.Status.Phase = corev1.NamespaceTerminating
	ns.CreationTimestamp = metav1.NewTime(time.Now().Add(-10 * 24 * time.Hour))
	got, err := namespaceTables.ConvertToTable(context.Background(), ns, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"a", "Terminating", "10d"}, got.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}
