package controllerruntime

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/kxtest"
)

// operatorRole is what the operator says that it needs.
const operatorRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: operator}
rules:
- {apiGroups: [example.dev], resources: [greetings, greetings/status, greetings/finalizers], verbs: [get, list, watch, update, patch]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}
`

// TestKxtest has an operator of a new controller-runtime under a test of package kxtest, which knows old libraries alone: with a server
// that is a process of its own, and with one in the process of the test.
func TestKxtest(t *testing.T) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		testKxtest(t)
	})
	t.Run("in this process", func(t *testing.T) {
		t.Parallel()
		testKxtest(t, kxtest.InProcess(server.Serve))
	})
}

func testKxtest(t *testing.T, opts ...kxtest.Option) {
	dir := t.TempDir()
	greetings := definition()
	greetings.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	text, err := json.Marshal(greetings)
	must(t, err)
	crd, role := filepath.Join(dir, "crd.json"), filepath.Join(dir, "role.yaml")
	must(t, os.WriteFile(crd, text, 0o600))
	must(t, os.WriteFile(role, []byte(operatorRole), 0o600))

	s := kxtest.Start(t, append(opts, kxtest.CRDs(crd))...)
	c, err := client.New(s.Config(), client.Options{Scheme: scheme()})
	must(t, err)
	must(t, c.Create(within(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	conflicts := s.Fault(t, kxtest.Conflict().On("update", "greetings").Where("user:operator-*").Times(3))
	o := &operator{config: s.As(role), renew: 2 * time.Second, gone: map[types.UID]bool{}}
	o.run(t)
	must(t, c.Create(within(t), greeting("g", "hello", "red")))
	until(t, "the operator has done its work", func() bool { return settled(within(t), c, "g") == nil })

	conflicts.MustHit(t, 3)
	s.MustSee(t, "verb:update resource:greetings code:200 user:operator-*")
	s.MustNotSee(t, "code:403 user:operator-*")
}
