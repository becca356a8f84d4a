package server_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
)

// TestWebhookDown compares what clients are told by a fault with what they are told of a webhook that really is down in
// that way. The webhook is not asked, its failurePolicy decides, and it is asked again when the fault is gone.
func TestWebhookDown(t *testing.T) {
	t.Parallel()
	r := start(t, allow)
	w := hooktest.New(t)
	nowhere, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed := "https://" + nowhere.Addr().String()
	must(t, nowhere.Close())
	rows := []struct {
		outage  v1alpha1.Outage
		url     string // of one that really is down
		foreign bool   // the caBundle is of another authority
		told    string
		seconds int32 // after which the call is given up: long where that is not what is tested
	}{
		{outage: v1alpha1.OutageRefused, url: closed + "/deny", told: "connect: connection refused", seconds: 30},
		{outage: v1alpha1.OutageSilent, url: w.Server.URL + "/slow-ignore", told: "context deadline exceeded", seconds: 5},
		{outage: v1alpha1.OutageError, url: w.Server.URL + "/broken", told: `(\"500 Internal Server Error\") has prevented the request`, seconds: 30},
		{outage: v1alpha1.OutageCertificate, url: w.Server.URL + "/deny", foreign: true, told: "certificate signed by unknown authority", seconds: 30},
	}
	hooks := r.admin(t).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	for _, row := range rows {
		t.Run(string(row.outage), func(t *testing.T) {
			name := strings.ToLower(string(row.outage))
			_, all := w.Configurations("deny")
			all.Name, all.Webhooks = name, all.Webhooks[:1]
			hook := &all.Webhooks[0]
			hook.Name, hook.ClientConfig.URL, hook.TimeoutSeconds = name+".example.com", &row.url, new(row.seconds)
			hook.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"scene": name}}
			if row.foreign {
				hook.ClientConfig.CABundle = authority(t).CertPEM()
			}
			all, err := hooks.Create(within(t), all, metav1.CreateOptions{})
			must(t, err)
			journey := ""
			ask := func() string {
				res, data := ask(t, r.httpClient(t), "POST", r.URL+"/api/v1/namespaces/default/configmaps?dryRun=All",
					strings.NewReader(fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"scene":%[1]q}}}`, name)), "Content-Type: application/json")
				journey = res.Header.Get("Kx-Journey")
				return fmt.Sprintf("%d %s", res.StatusCode, data)
			}
			change := func(policy registrationv1.FailurePolicyType, url string) {
				hook := &all.Webhooks[0]
				hook.FailurePolicy, hook.ClientConfig.URL, hook.ClientConfig.CABundle = &policy, &url, w.CA()
				all, err = hooks.Update(within(t), all, metav1.UpdateOptions{})
				must(t, err)
			}
			var real string
			until(t, "the webhook is asked", func() bool { real = ask(); return !strings.HasPrefix(real, "201") })
			if !strings.HasPrefix(real, "500") || !strings.Contains(real, "failed to call webhook: ") || !strings.Contains(real, row.told) {
				t.Fatalf("a webhook that is down: %s", real)
			}

			calls := w.Calls("/deny")
			r.fault(t, name, v1alpha1.FaultSpec{Effect: v1alpha1.FaultWebhookDown, Outage: row.outage, Filter: "key:" + name + "/*"})
			if got := ask(); got != real {
				t.Errorf("by a fault clients are told\n%s\nand of one that is down\n%s", got, real)
			}
			j := r.journeyOf(t, journey)
			asked := slices.DeleteFunc(stepsOf(j, "handler.webhook"), func(s v1alpha1.Step) bool { return s.Reason.Kind != "webhook-failed" })
			if len(asked) != 1 || asked[0].Subject != name+"/"+name+".example.com" || fmt.Sprint(j.Status.Touched) != "[Failed]" ||
				j.Status.Interventions[0].Message != fmt.Sprintf("the webhook is down by fault %q: %s", name, row.outage) {
				t.Errorf("the journey has %+v, %v, %+v", asked, j.Status.Touched, j.Status.Interventions)
			}
			change(registrationv1.Ignore, w.Server.URL+"/deny")
			until(t, "its failurePolicy decides", func() bool { return strings.HasPrefix(ask(), "201") })
			if n := w.Calls("/deny"); n != calls {
				t.Errorf("it was asked %d times", n-calls)
			}
			r.kx(t, "DELETE", "faults/"+name, nil, 200, nil)
			until(t, "it is asked again", func() bool { return strings.Contains(ask(), "not in this house") })
		})
	}
}
