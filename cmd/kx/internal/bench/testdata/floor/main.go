// Command floor serves ready bytes over TLS and HTTP/2, so that kx bench can measure what no API server can do without:
//
//	go build -o floor ./cmd/kx/internal/bench/testdata/floor && ./floor
//	kx bench --kubeconfig KUBECONFIG --pid PID
//
// It prints both when it is ready.
package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kx-apiserver/kx/cmd/kx/internal/bench/testdata/floor/static"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run() error {
	s := httptest.NewUnstartedServer(static.New())
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()

	dir, err := os.MkdirTemp("", "floor-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := api.NewConfig()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config.Clusters["floor"] = &api.Cluster{Server: s.URL, CertificateAuthorityData: authority}
	config.Contexts["floor"] = &api.Context{Cluster: "floor"}
	config.CurrentContext = "floor"
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return err
	}
	fmt.Printf("floor: serving %s  kubeconfig: %s  pid: %d\n", s.URL, path, os.Getpid())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	s.CloseClientConnections()
	return nil
}
