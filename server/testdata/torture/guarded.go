//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// The guarded namespace has a quota, a policy that forbids some values, and a webhook that does not want others.
const (
	guardedNamespace = "torture-guarded"
	// quotaMost is how many config maps it may have, with the one that every namespace has.
	quotaMost           = 7
	forbidden, unwanted = "forbidden", "unwanted"
)

// guard is what must hold there.
func guard() history.Guard {
	return history.Guard{Prefix: configMaps.prefix + guardedNamespace + "/", Most: quotaMost, Refused: []string{forbidden, unwanted}}
}

// hook is a webhook that refuses what is unwanted. It can end, and begin again at the same address.
type hook struct {
	address string
	ca      []byte
	server  *httptest.Server
}

func (h *hook) begin() error {
	address := h.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(answerReview))
	_ = h.server.Listener.Close()
	h.server.Listener = listener
	h.server.StartTLS()
	h.address = listener.Addr().String()
	h.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	return nil
}

func (h *hook) end() {
	h.server.CloseClientConnections()
	h.server.Close()
}

func answerReview(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var object corev1.ConfigMap
	if json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil || json.Unmarshal(review.Request.Object.Raw, &object) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	review.Response, review.Request = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}, nil
	if strings.HasPrefix(object.Data["v"], unwanted) {
		review.Response.Allowed, review.Response.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: "nobody wants it"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// restart ends the webhook for moments, again and again, until ctx ends. Then it is there.
func (h *hook) restart(ctx context.Context, w *world, random *rand.Rand) {
	for pause(ctx, time.Duration(200+random.IntN(1500))*time.Millisecond) == nil {
		h.end()
		_ = pause(ctx, time.Duration(random.IntN(600))*time.Millisecond)
		// Somebody's connection may have got its port meanwhile, for a moment.
		err := within(context.WithoutCancel(ctx), "the webhook begins again", func(context.Context) error { return h.begin() })
		if err != nil {
			w.round.fail("%v", err)
			return
		}
		w.count("restarts of the webhook")
	}
}

// guardNamespace makes the guarded namespace, and waits until each server refuses what it must.
func (w *world) guardNamespace(ctx context.Context) error {
	w.hook = &hook{}
	if err := w.hook.begin(); err != nil {
		return err
	}
	c := w.kxs[0].typed
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guardedNamespace}}
	if _, err := c.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": *resource.NewQuantity(quotaMost, resource.DecimalSI)}},
	}
	if _, err := c.CoreV1().ResourceQuotas(guardedNamespace).Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := w.createGuards(ctx); err != nil {
		return err
	}
	err := within(ctx, "the quota is counted", func(ctx context.Context) error { return w.quotaCounts(ctx, 1) })
	if err != nil {
		return err
	}
	for _, s := range w.kxs {
		for _, color := range []string{forbidden, unwanted} {
			err := within(ctx, s.Name+" refuses what is "+color, func(ctx context.Context) error {
				object := configMaps.object(guardedNamespace, "probe", color+"-0-0")
				_, err := s.dynamic.Resource(configMaps.resource).Namespace(guardedNamespace).
					Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if !refused(err) {
					return fmt.Errorf("it says %v", err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// refused is whether an error is an answer of the policy or of the webhook.
func refused(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && (status.Status().Code == http.StatusUnprocessableEntity || status.Status().Code == http.StatusForbidden)
}

// createGuards creates the policy and the configuration of the webhook.
func (w *world) createGuards(ctx context.Context) error {
	c := w.kxs[0].typed.AdmissionregistrationV1()
	only := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: guardedNamespace}}
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: forbidden},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: only, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: `!object.?data.v.orValue("").startsWith("` + forbidden + `")`}},
		},
	}
	if _, err := c.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: forbidden},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: forbidden, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if _, err := c.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	url, none, seconds := "https://"+w.hook.address, admissionregistrationv1.SideEffectClassNone, int32(2)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: unwanted},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "unwanted.torture.kx.dev", NamespaceSelector: only, Rules: []admissionregistrationv1.RuleWithOperations{rule},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: w.hook.ca},
			SideEffects:  &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	_, err := c.ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{})
	return err
}

// quotaCounts is an error while the status of the quota does not say that so many are used.
func (w *world) quotaCounts(ctx context.Context, want int64) error {
	quota, err := w.kxs[0].typed.CoreV1().ResourceQuotas(guardedNamespace).Get(ctx, "few", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if used, ok := quota.Status.Used["count/configmaps"]; !ok || used.Value() != want {
		return fmt.Errorf("it says that %s are used, not %d", used.String(), want)
	}
	return nil
}
