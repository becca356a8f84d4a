package controllerruntime

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// cards makes a config map of each greeting.
type cards struct{ client.Client }

func (c cards) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	g := &Greeting{}
	if err := c.Get(ctx, request.NamespacedName, g); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	card := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, card, func() error {
		card.Data = map[string]string{"text": g.Spec.Text}
		return nil
	})
	return ctrl.Result{}, err
}

// polite refuses greetings without a text.
func polite(_ context.Context, r admission.Request) admission.Response {
	g := &Greeting{}
	if err := admission.NewDecoder(scheme()).Decode(r, g); err != nil || g.Spec.Text == "" {
		return admission.Denied("a greeting needs a text")
	}
	return admission.Allowed("")
}

// startManager runs a manager until the end of the test.
func startManager(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
	until(t, "the webhooks are served", func() bool { return mgr.GetWebhookServer().StartedChecker()(nil) == nil })
}

func TestCards(t *testing.T) {
	s := kxtest.Start(t, kxtest.CRDs("config/crd"), kxtest.Webhooks("config/webhook"))
	mgr, err := ctrl.NewManager(s.As("config/rbac/role.yaml"), ctrl.Options{
		Scheme:     scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // each test has a manager
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    s.Webhook.LocalServingHost,
			Port:    s.Webhook.LocalServingPort,
			CertDir: s.Webhook.LocalServingCertDir,
		}),
	})
	must(t, err)
	must(t, ctrl.NewControllerManagedBy(mgr).For(&Greeting{}).Complete(cards{mgr.GetClient()}))
	mgr.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: admission.HandlerFunc(polite)})
	startManager(t, mgr)
	user, err := client.New(s.Config(), client.Options{Scheme: scheme()})
	must(t, err)

	conflicts := s.Fault(t, kxtest.Conflict().On("create", "configmaps").Times(2))
	must(t, user.Create(t.Context(), &Greeting{
		ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: "default"},
		Spec:       GreetingSpec{Text: "hello"},
	}))

	s.MustSee(t, "verb:create resource:configmaps name:hello code:201")
	conflicts.MustHit(t, 2)
	s.MustNotSee(t, "code:403 user:manager-role-*") // the role is enough
}
