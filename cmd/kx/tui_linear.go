package main

import (
	"context"
	"fmt"
	"io"

	"github.com/kx-apiserver/kx/cmd/kx/internal/linear"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/source"
)

// showLinear shows the requests of the screen's server, or of a capture, as lines. It never changes a written line.
func showLinear(ctx context.Context, screen tui.Options, in io.Reader, out io.Writer) error {
	signal := make(chan struct{}, 1)
	changed := func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	o := linear.Options{Changed: signal, Language: screen.Language, Files: ownSource}
	if screen.Saved != nil {
		o.Session = session.NewArchive(screen.Saved.Journeys, screen.Reasons, changed, func() {})
		defer o.Session.Close()
		return linear.Run(ctx, in, out, o)
	}
	server, err := screen.Start(ctx)
	if err != nil {
		return err
	}
	if server.Note != "" {
		fmt.Fprintln(out, server.Note)
	}
	client, err := api.New(server.Config)
	if err != nil {
		return err
	}
	o.Host, o.API = server.Config.Host, client
	o.Session = session.NewSession(client, screen.Reasons, linear.Capacity, changed, func() {})
	defer o.Session.Close()
	o.Control = control.New(client, changed, func() {})
	defer o.Control.Close()
	o.Control.Start()
	o.Files = source.Reader(ctx, client)
	return linear.Run(ctx, in, out, o)
}
