package controllerruntime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// TestEnvtest starts envtest as the tests of any controller do: KUBEBUILDER_ASSETS, which TestMain has set, is all that says that
// its binaries are kx.
func TestEnvtest(t *testing.T) {
	t.Parallel()
	env := &envtest.Environment{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{noRed()},
		},
	}
	config, err := env.Start()
	must(t, err)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = env.Stop()
		}
	})
	install := env.WebhookInstallOptions
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme(), Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir,
		}),
	})
	must(t, err)
	m.GetWebhookServer().Register("/no-red", &admission.Webhook{
		Handler: admission.HandlerFunc(func(_ context.Context, req admission.Request) admission.Response {
			if strings.Contains(string(req.Object.Raw), `"color":"red"`) {
				return admission.Denied("not red")
			}
			return admission.Allowed("")
		}),
	})
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(running) }()
	writer, err := client.New(config, client.Options{})
	must(t, err)
	must(t, writer.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	until(t, "the webhook refuses", func() bool {
		err := m.GetClient().Create(t.Context(), greeting("bad", "hello", "red"))
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not red")
	})
	must(t, m.GetClient().Create(t.Context(), greeting("good", "hello", "blue")))
	var got Greeting
	must(t, m.GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "good"}, &got))
	if got.Spec.Text != "hello" || got.UID == "" {
		t.Errorf("read %+v", got)
	}
	bare(t, m.GetAPIReader(), m.GetClient())

	user, err := env.AddUser(envtest.User{Name: "ann", Groups: []string{"system:masters"}}, nil)
	must(t, err)
	kubectl, err := user.Kubectl()
	must(t, err)
	out, complaint, err := kubectl.Run("get", "-n", namespace, "greetings.example.dev", "good", "-o", "jsonpath={.spec.text}")
	said, _ := io.ReadAll(out)
	refused, _ := io.ReadAll(complaint)
	if err != nil || string(said) != "hello" {
		t.Errorf("kubectl said %q, %s, %v", said, refused, err)
	}

	stop()
	must(t, <-ended)
	must(t, env.Stop())
	stopped = true
}

// bare wants what a kube-apiserver does and no more: a namespace is empty, and does not end.
func bare(t *testing.T, reader client.Reader, writer client.Writer) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}
	must(t, writer.Create(t.Context(), ns))
	var accounts corev1.ServiceAccountList
	must(t, reader.List(t.Context(), &accounts, client.InNamespace("bare")))
	if len(accounts.Items) > 0 {
		t.Errorf("a service account is in a new namespace: %+v", accounts.Items)
	}
	must(t, writer.Delete(t.Context(), ns))
	must(t, reader.Get(t.Context(), client.ObjectKeyFromObject(ns), ns))
	if ns.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("the namespace is %s", ns.Status.Phase)
	}
}

// noRed is the configuration of a webhook about greetings. envtest fills in where it is.
func noRed() *admissionregistrationv1.ValidatingWebhookConfiguration {
	path, none, fail := "/no-red", admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "no-red"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "no-red.example.dev", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "webhooks", Path: &path},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.dev"}, APIVersions: []string{"v1"}, Resources: []string{"greetings"}},
			}},
		}},
	}
}

// TestArchive makes an archive and its index, serves both, and has setup-envtest and envtest install and start it.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(files.Close)
	out, err := exec.Command(binary, "testassets", "--archive", dir, "--url", files.URL).Output()
	must(t, err)
	archive := strings.TrimSuffix(string(out), "\n")
	_, err = os.Stat(archive)
	must(t, err)
	index := files.URL + "/envtest-releases.yaml"

	bin := t.TempDir()
	out, err = exec.Command("go", "tool", "setup-envtest", "use", "--index", index, "--bin-dir", bin, "-p", "path").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("setup-envtest: %v\n%s", err, exit.Stderr)
	}
	must(t, err)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", bin).Run() }) // it writes directories that can't be removed
	for name, want := range map[string]string{"kube-apiserver": "Kubernetes v1.", "etcd": "etcd Version: 3.", "kubectl": "Client Version: v"} {
		words := []string{"--version"}
		if name == "kubectl" {
			words = []string{"version", "--client"}
		}
		said, err := exec.Command(filepath.Join(string(out), name), words...).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(said), want) {
			t.Errorf("%s said %s, %v", name, said, err)
		}
	}

	env := &envtest.Environment{DownloadBinaryAssets: true, DownloadBinaryAssetsIndexURL: index, BinaryAssetsDirectory: t.TempDir()}
	config, err := env.Start()
	must(t, err)
	if err := direct(t, config).Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Error(err)
	}
	must(t, env.Stop())
}
