package server_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
	"k8s.io/client-go/transport"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
)

// TestPlugins sends the requests of testdata/plugins, whose answers a kube-apiserver gave: testdata/upstream records them. Each file
// has a server with flags of its own.
func TestPlugins(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, filepath.Join("testdata", "plugins"), func(t *testing.T, path string) {
		var c *wiretest.Client
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "serve":
				r := start(t, tokens(t, wiretest.TokenFile()), uncollected, func(o *options.Options) {
					o.Admission.Disabled = nil
					flags := pflag.NewFlagSet("", pflag.ContinueOnError)
					o.AddFlags(flags)
					must(t, flags.Parse(wiretest.Flags(t, d.Input)))
					o.Limits.RequestTimeout = 10 * time.Minute // the race detector makes expressions that use up their budget slow
				})
				anyone := r.anyone(t)
				admin := &http.Client{Transport: transport.NewBearerAuthRoundTripper("secret", anyone.Transport)}
				c = &wiretest.Client{URL: r.URL, Admin: admin, Anyone: anyone}
				return ""
			case "settle":
				// Quotas are read from a cache that may lag behind; a list without a resourceVersion waits until it has caught up.
				c.Ask(t, "GET /api/v1/resourcequotas")
				settle(t, c)
				return ""
			case "setup":
				return strings.SplitN(c.Ask(t, d.Input), "\n", 2)[0]
			}
			return c.Ask(t, d.Input)
		})
	})
}

// settle waits until the server knows the policies that there are: it makes two more, which change and refuse something, and takes them away
// again.
func settle(t testing.TB, c *wiretest.Client) {
	t.Helper()
	const group, about = "/apis/admissionregistration.k8s.io/v1/", `"matchConstraints":{"resourceRules":[
{"apiGroups":["rbac.authorization.k8s.io"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["clusterroles"],"resourceNames":["settled"]}]}`
	done := func(method, path, body, want string) {
		t.Helper()
		if answer := c.Ask(t, method+" "+path+"\n\n"+body); !strings.HasPrefix(answer, want) {
			t.Fatalf("%s %s: %s", method, path, answer)
		}
	}
	becomes := func(mutated bool, want string) {
		t.Helper()
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			answer := c.Ask(t, "POST /apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All\n\n"+`{"metadata":{"name":"settled"}}`)
			if strings.HasPrefix(answer, want) && strings.Contains(answer, `"mutated":"yes"`) == mutated {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("policies are not known: %s", answer)
			}
		}
	}
	done("POST", group+"mutatingadmissionpolicies", `{"metadata":{"name":"settled"},"spec":{"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration",
"applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}}"}}],`+about+`}}`, "201")
	done("POST", group+"mutatingadmissionpolicybindings", `{"metadata":{"name":"settled"},"spec":{"policyName":"settled"}}`, "201")
	becomes(true, "201")
	done("DELETE", group+"mutatingadmissionpolicybindings/settled", "", "200")
	done("DELETE", group+"mutatingadmissionpolicies/settled", "", "200")
	becomes(false, "201")
	done("POST", group+"validatingadmissionpolicies", `{"metadata":{"name":"settled"},"spec":{"validations":[{"expression":"false"}],`+about+`}}`, "201")
	done("POST", group+"validatingadmissionpolicybindings", `{"metadata":{"name":"settled"},"spec":{"policyName":"settled","validationActions":["Deny"]}}`, "201")
	becomes(false, "422")
	done("DELETE", group+"validatingadmissionpolicybindings/settled", "", "200")
	done("DELETE", group+"validatingadmissionpolicies/settled", "", "200")
	becomes(false, "201")
}
