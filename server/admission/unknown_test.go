package admission_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/server/admission/webhook"
	"github.com/kx-apiserver/kx/server/service"
	"github.com/kx-apiserver/kx/store/admin"
)

// TestNothingKnown has writes come before the configurations of webhooks, or the policies, are known: they wait, and are refused if that takes
// too long. About some nobody is asked.
func TestNothingKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := mirror.New(&admin.Live{}, &admin.Decoder{Prefix: "/registry"}, slog.New(slog.DiscardHandler))
		hooks, err := webhook.New(webhook.Config{Services: &service.Finder{}})
		if err != nil {
			t.Fatal(err)
		}
		policies := policy.New(policy.Config{})
		if err := errors.Join(hooks.Follow(keeper), policies.Follow(keeper)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			plugin.Plugin
			operation                library.Operation
			configuration, resources string // its own
		}{
			{hooks.Mutating(), library.Delete, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
			{hooks.Validating(), library.Delete, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
			{policies.Mutating(), library.Create, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
			{policies.Validating(), library.Create, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
		} {
			one := test.Plugin
			write := func(group, kind, plural string) library.Attributes {
				gv := schema.GroupVersion{Group: group, Version: "v1"}
				return library.NewAttributesRecord(nil, nil, gv.WithKind(kind), "default", "a", gv.WithResource(plural), "", test.operation, nil, false, nil)
			}
			ask := one.Admit
			if ask == nil {
				ask = one.Validate
			}
			a := write("", "ConfigMap", "configmaps")
			if !one.Concerns(a) {
				t.Error("it is not asked")
			}
			began := time.Now()
			if err := ask(t.Context(), plugin.Write{Attributes: a}); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "not yet ready to handle request") {
				t.Errorf("got %v", err)
			}
			if waited := time.Since(began); waited != mirror.KnownWait {
				t.Errorf("it waited %s", waited)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := ask(ctx, plugin.Write{Attributes: a}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			for _, free := range []library.Attributes{
				write("admissionregistration.k8s.io", test.configuration, test.resources), write("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"), write("kx.dev", "Breakpoint", "breakpoints"),
			} {
				if one.Concerns(free) {
					t.Errorf("it is asked about %s", free.GetKind())
				}
			}
		}
	})
}
