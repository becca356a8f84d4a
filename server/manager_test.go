package server_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// TestBesideAManager has the Lease of a kube-controller-manager: a server that runs the same controllers warns of it, and one that leaves
// them to it does not, when it has looked at all there is.
func TestBesideAManager(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(controllers string) func(*options.Options) {
		return func(o *options.Options) {
			o.Ephemeral, o.DataDir, o.Controllers = false, dir, controller.Selection{controllers}
		}
	}
	const words = "a kube-controller-manager runs the same controllers"
	t.Run("warns", func(t *testing.T) {
		r, logged := launchLogged(t, withObjects("192.0.2.1"), in("*"))
		r.ready(t)
		_, err := r.admin(t).CoordinationV1().Leases("kube-system").Create(within(t), &coordinationv1.Lease{
			ObjectMeta: named("kube-controller-manager"), Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("manager-1"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: &metav1.MicroTime{Time: time.Now()},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		until(t, "it warns", func() bool {
			return strings.Contains(logged.String(), words) && strings.Contains(logged.String(), "manager-1")
		})
	})
	t.Run("leaves the work to it", func(t *testing.T) {
		r, logged := launchLogged(t, withObjects("192.0.2.1"), in("-*"))
		r.ready(t)
		if strings.Contains(logged.String(), words) {
			t.Error(logged.String())
		}
	})
}
