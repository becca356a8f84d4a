// Command moons is an API server with its own resource, as docs/own-storage.md builds it: a storage outside etcd and
// kx, behind kx's filters and handlers.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
)

func main() {
	o := options.New()
	o.AddFlags(pflag.CommandLine) // those of kx serve
	pflag.Parse()
	if err := o.Validate(); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := server.Start(ctx, o, slog.Default(), group)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("kx: serving %s  kubeconfig: %s\n", s.URL, s.Kubeconfig)
	<-ctx.Done()
	if err := s.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
}
