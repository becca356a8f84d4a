package upstream

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	endpointsopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestMain keeps upstream's log to itself.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// nobody is a kubeconfig that leads nowhere: upstream wants one for what it would ask a kube-apiserver.
const nobody = `apiVersion: v1
kind: Config
clusters: [{name: nobody, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
users: [{name: nobody, user: {token: none}}]
current-context: nobody
`

// startUpstream starts the API extensions server with an etcd of its own.
func startUpstream(t *testing.T) *wiretest.Client {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "nobody")
	must(t, os.WriteFile(kubeconfig, []byte(nobody), 0o600))
	o := apiextensionsoptions.NewCustomResourceDefinitionsServerOptions(io.Discard, io.Discard)
	flags := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	o.AddFlags(flags)
	must(t, flags.Parse([]string{
		"--etcd-prefix=/registry", "--etcd-servers=" + startEtcd(t), "--cert-dir=" + t.TempDir(),
		"--authentication-skip-lookup", "--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig, "--kubeconfig=" + kubeconfig,
		"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	}))
	var err error
	serving := o.RecommendedOptions.SecureServing
	serving.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	serving.BindPort = serving.Listener.Addr().(*net.TCPAddr).Port
	must(t, o.Complete())
	must(t, o.Validate())
	config, err := o.Config()
	must(t, err)
	config.GenericConfig.EnableMetrics = false // both would register the same names
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	config.GenericConfig.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, endpointsopenapi.NewDefinitionNamer(apiserver.Scheme))
	s, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	must(t, err)

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan error, 1)
	go func() { stopped <- s.GenericAPIServer.PrepareRun().RunWithContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	c := client(t, s.GenericAPIServer.LoopbackClientConfig)
	for { // it begins to listen before it is ready
		res, err := c.Admin.Get(c.URL + "/healthz") // it is never ready: that would take a kube-apiserver
		if err == nil {
			_ = res.Body.Close()
		}
		if err == nil && res.StatusCode == http.StatusOK {
			return c
		}
		select {
		case err := <-stopped:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startEtcd starts an etcd and says where it listens.
func startEtcd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	etcd, err := embedded.Start(t.Context(), embedded.Config{
		Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Socket: filepath.Join(dir, embedded.SocketName),
		Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(etcd.Close)
	return "unix://" + filepath.Join(dir, embedded.SocketName)
}

// startKX starts kx as it is.
func startKX(t *testing.T) *wiretest.Client {
	t.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	must(t, o.Validate())
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	must(t, err)
	return client(t, config)
}

// client is the administrator's.
func client(t *testing.T, config *rest.Config) *wiretest.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.DisableCompression = -1, true
	admin, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(admin.CloseIdleConnections)
	return &wiretest.Client{URL: config.Host, Admin: admin, Anyone: http.DefaultClient}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
