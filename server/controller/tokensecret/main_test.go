package tokensecret_test

import (
	"testing"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// serve starts a server with a controller of secrets, or without.
func serve(t *testing.T, dir string, names ...string) (controllertest.Clients, func()) {
	t.Helper()
	o := options.New()
	o.InitialObjects = false
	o.Controllers = append(controller.Selection{controller.Namespace}, names...)
	return controllertest.Serve(t, o, dir)
}
