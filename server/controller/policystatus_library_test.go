package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// TestPolicyStatusLibrary has the library's checker look at all policies of the scenes, by what this server tells its clients, and
// compares what it says with what the server has written.
func TestPolicyStatusLibrary(t *testing.T) {
	t.Parallel()
	clients, _ := controllertest.Serve(t, withAll(), "")
	all := &controllertest.Scenes{State: policyState}
	for name, play := range policyScenes {
		play(all.Stage(t, clients, strings.ReplaceAll(name, " ", "-")))
	}
	cached := memory.NewMemCacheClient(clients.Discovery())
	library := &validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: cached},
		RestMapper:     restmapper.NewDeferredDiscoveryRESTMapper(cached),
	}
	plain := func(warnings []registrationv1.ExpressionWarning) (lines []string) {
		for _, w := range warnings {
			lines = append(lines, fmt.Sprintf("%s: %s", w.FieldRef, typeNames.ReplaceAllString(w.Warning, "$1")))
		}
		return lines
	}
	warnings := 0
	for name := range policyScenes {
		stage := all.Stage(t, clients, strings.ReplaceAll(name, " ", "-"))
		stage.AwaitNot(" 0 of ")
		stage.AwaitNot(" 1 of 2")
	}
	policies := must[*registrationv1.ValidatingAdmissionPolicyList](t)(
		clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{}))
	for i := range policies.Items {
		p := &policies.Items[i]
		want, got := plain(library.Check(p)), []string(nil)
		if p.Status.TypeChecking != nil { // it is taken away with the last warning
			got = plain(p.Status.TypeChecking.ExpressionWarnings)
		}
		warnings += len(want)
		if !slices.Equal(want, got) {
			t.Errorf("%s: the library says\n%s\nand the status\n%s", p.Name, strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	}
	if len(policies.Items) < 20 || warnings < 40 {
		t.Errorf("there are %d policies with %d warnings: too few to say something", len(policies.Items), warnings)
	}
}
