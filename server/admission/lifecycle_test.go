package admission_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	library "k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	corerest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/admission"
	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/service"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// serve starts a server that keeps nothing.
func serve(t *testing.T, runtimeConfig map[string]string) (typedcorev1.CoreV1Interface, *trace.Recorder) {
	t.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Admission.Disabled = []string{"ServiceAccount"} // nobody makes accounts
	o.Ephemeral, o.Listen, o.RuntimeConfig = true, "127.0.0.1:0", runtimeConfig
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		utilnet.CloseIdleConnectionsFor(http.Transport) // the server would wait for them
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return c.CoreV1(), s.Journeys
}

func configMap(name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
}

// refused fails unless err is such a refusal.
func refused(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) *metav1.Status {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Fatalf("got %v, want %q", err, message)
	}
	s := status.Status()
	if s.Code != code || s.Reason != reason || s.Message != message {
		t.Errorf("got %d %s %q, want %d %s %q", s.Code, s.Reason, s.Message, code, reason, message)
	}
	return &s
}

func TestMissingNamespace(t *testing.T) {
	c, _ := serve(t, nil)
	ctx := t.Context()
	_, err := c.ConfigMaps("x").Create(ctx, configMap("a"), metav1.CreateOptions{})
	s := refused(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "x" not found`)
	if s.Details == nil || s.Details.Kind != "namespaces" || s.Details.Name != "x" {
		t.Errorf("details %+v", s.Details)
	}
	_, err = c.ConfigMaps("x").Create(ctx, configMap("a"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	refused(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "x" not found`)
	// Admission comes before validation.
	_, err = c.ConfigMaps("x").Create(ctx, configMap("Not A Name"), metav1.CreateOptions{})
	refused(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "x" not found`)
	// What is not there can't be changed or deleted, and that is said of itself.
	_, err = c.ConfigMaps("x").Patch(ctx, "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	refused(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	err = c.ConfigMaps("x").Delete(ctx, "a", metav1.DeleteOptions{})
	refused(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `configmaps "a" not found`)

	// As soon as it is there, objects may be created in it.
	if _, err := c.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ConfigMaps("x").Create(ctx, configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTerminatingNamespace(t *testing.T) {
	c, _ := serve(t, nil)
	ctx := t.Context()
	if _, err := c.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ConfigMaps("x").Create(ctx, configMap("held", "example.com/wait"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Namespaces().Delete(ctx, "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.ConfigMaps("x").Create(ctx, configMap("a"), metav1.CreateOptions{})
	s := refused(t, err, http.StatusForbidden, metav1.StatusReasonForbidden,
		`configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated`)
	want := metav1.StatusCause{Type: "NamespaceTerminating", Message: "namespace x is being terminated", Field: "metadata.namespace"}
	if s.Details == nil || len(s.Details.Causes) != 1 || s.Details.Causes[0] != want {
		t.Errorf("details %+v", s.Details)
	}
	_, err = c.ConfigMaps("x").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{})
	refused(t, err, http.StatusForbidden, metav1.StatusReasonForbidden,
		`configmaps "g-" is forbidden: unable to create new content in namespace x because it is being terminated`)
	// What is in it may be changed, and leave.
	if _, err := c.ConfigMaps("x").Patch(ctx, "held", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.ConfigMaps("x").Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	// The namespace itself may be changed.
	if _, err := c.Namespaces().Patch(ctx, "x", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// TestJourney looks for the look at the namespace in what is recorded of a create.
func TestJourney(t *testing.T) {
	c, journeys := serve(t, nil)
	if _, err := c.ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	changes, _ := journeys.List()
	for _, change := range changes {
		record := journeys.Get(change.Journey.ID()).Record()
		if record.Request.Method != http.MethodPost {
			continue
		}
		var path []steps.ID
		for _, step := range record.Steps {
			if step.ID != steps.StoreGet {
				continue
			}
			for parent := step.Parent; parent >= 0; parent = record.Steps[parent].Parent {
				path = append(path, record.Steps[parent].ID)
			}
			if step.Subject != "/namespaces/default" || len(path) < 2 || path[0] != steps.HandlerAdmit || path[1] != steps.HandlerMutate {
				t.Errorf("the namespace was read at %q, by %v", step.Subject, path)
			}
			return
		}
	}
	t.Error("nothing of it is recorded")
}

// staleNamespaces are namespaces as a server has them whose cache is cut off from etcd: what may be old is.
type staleNamespaces struct {
	corerest.Getter
	old map[string]*corev1.Namespace
}

func (s staleNamespaces) Get(ctx context.Context, name string, opts *metav1.GetOptions) (runtime.Object, error) {
	if ns := s.old[name]; ns != nil && opts.ResourceVersion == "0" {
		return ns, nil
	}
	return s.Getter.Get(ctx, name, opts)
}

// namespacesAsResource serves the getter as the resource that admission reads.
type namespacesAsResource struct {
	corerest.Storage
	corerest.Getter
}

// withoutWebhooks configures plugins that need no etcd.
func withoutWebhooks(file string) admission.Config {
	return admission.Config{
		Selection: admission.Selection{Disabled: []string{"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"}},
		Kept:      mirror.New(&admin.Live{}, &admin.Decoder{}, slog.New(slog.DiscardHandler)),
		Services:  &service.Finder{},
		File:      file,
	}
}

// made returns the plugins of a configuration.
func made(t *testing.T, c admission.Config) *admission.Plugins {
	t.Helper()
	plugins, err := admission.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return plugins
}

// TestNamespaceThatAnotherServerDeleted is gone, though this server's cache has not heard of it.
func TestNamespaceThatAnotherServerDeleted(t *testing.T) {
	namespaces := builtintest.Storages(t, builtin.Declare(core.Namespace), builtintest.NewEtcd(t))[""].(*core.NamespaceREST)
	old := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	plugins := made(t, withoutWebhooks(""))
	plugins.Initialize(func(schema.GroupVersionResource) corerest.Storage {
		return namespacesAsResource{namespaces, staleNamespaces{namespaces, map[string]*corev1.Namespace{"x": old}}}
	}, nil, nil, nil)
	things := schema.GroupVersion{Group: "example.com", Version: "v1"}
	err := plugins.Admit(t.Context(), library.NewAttributesRecord(configMap("a"), nil, things.WithKind("Thing"), "x", "a",
		things.WithResource("things"), "", library.Create, nil, false, nil), nil)
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// TestAlways has a plugin that refuses everything, and one that is about nothing.
func TestAlways(t *testing.T) {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	write := library.NewAttributesRecord(configMap("a"), nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "x", "a",
		configMaps, "", library.Update, nil, false, nil)
	try := func(enabled string) []error {
		c := withoutWebhooks("")
		c.Enabled = []string{enabled}
		plugins := made(t, c)
		plugins.Initialize(func(schema.GroupVersionResource) corerest.Storage { return nil }, nil, nil, nil)
		return []error{
			plugins.Admit(t.Context(), write, nil), plugins.Validate(t.Context(), write, nil),
		}
	}
	for _, err := range try("AlwaysAdmit") {
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range try("AlwaysDeny") {
		refused(t, err, http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "a" is forbidden: admission control is denying all modifications`)
	}
}

func TestImmortalNamespaces(t *testing.T) {
	c, _ := serve(t, nil)
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		err := c.Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{})
		refused(t, err, http.StatusForbidden, metav1.StatusReasonForbidden, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`)
		if ns, err := c.Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil || ns.DeletionTimestamp != nil {
			t.Errorf("%+v, %v", ns, err)
		}
	}
}

func TestWithoutNamespaces(t *testing.T) {
	c, _ := serve(t, map[string]string{"v1/namespaces": "false"})
	if _, err := c.Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("namespaces are served: %v", err)
	}
	if _, err := c.ConfigMaps("x").Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestWhatIsAsked has the kinds of requests that no resource of the server makes yet.
func TestWhatIsAsked(t *testing.T) {
	namespaces := builtintest.Storages(t, builtin.Declare(core.Namespace), builtintest.NewEtcd(t))[""].(*core.NamespaceREST)
	plugins := made(t, withoutWebhooks(""))
	plugins.Initialize(func(schema.GroupVersionResource) corerest.Storage { return namespaces }, nil, nil, nil)
	for _, test := range []struct {
		name, resource, kind, namespace string
		group                           string
		operation                       library.Operation
		refused                         bool
	}{
		{name: "in a namespace", resource: "things", kind: "Thing", namespace: "x", group: "example.com", operation: library.Create, refused: true},
		{name: "in none", resource: "things", kind: "Thing", group: "example.com", operation: library.Create},
		{name: "of another kind of namespace", resource: "namespaces", kind: "Namespace", namespace: "x", group: "example.com", operation: library.Create, refused: true},
		{name: "an access review", resource: "localsubjectaccessreviews", kind: "LocalSubjectAccessReview", namespace: "x", group: "authorization.k8s.io", operation: library.Create},
		{name: "a namespace", resource: "namespaces", kind: "Namespace", namespace: "x", operation: library.Create},
		{name: "an update", resource: "things", kind: "Thing", namespace: "x", group: "example.com", operation: library.Update},
		{name: "a deletion", resource: "things", kind: "Thing", namespace: "x", group: "example.com", operation: library.Delete},
		{name: "a connection", resource: "things", kind: "Thing", namespace: "x", group: "example.com", operation: library.Connect},
	} {
		t.Run(test.name, func(t *testing.T) {
			gv := schema.GroupVersion{Group: test.group, Version: "v1"}
			attributes := library.NewAttributesRecord(configMap("a"), nil, gv.WithKind(test.kind), test.namespace, "a",
				gv.WithResource(test.resource), "", test.operation, nil, false, nil)
			if test.operation == library.Delete && plugins.Changes(attributes) {
				t.Error("the plugins would get a copy, though they change nothing")
			}
			err := plugins.Admit(t.Context(), attributes, nil)
			if apierrors.IsNotFound(err) != test.refused || (err != nil) != test.refused {
				t.Errorf("got %v", err)
			}
		})
	}
	// An etcd that does not answer is not a namespace that is missing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	things := schema.GroupVersion{Group: "example.com", Version: "v1"}
	err := plugins.Admit(ctx, library.NewAttributesRecord(configMap("a"), nil, things.WithKind("Thing"), "x", "a",
		things.WithResource("things"), "", library.Create, nil, false, nil), nil)
	if err == nil || apierrors.IsNotFound(err) {
		t.Errorf("without an answer from etcd: %v", err)
	}
}
