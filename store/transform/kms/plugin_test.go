package kms

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	kmsv2 "k8s.io/kms/apis/v2"

	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// TestPluginIsBack: a plugin that was away for an hour answers the first call after its return.
func TestPluginIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, server := bufconn.Listen(1<<16), grpc.NewServer()
		kmsv2.RegisterKeyManagementServiceServer(server, &kmstest.Plugin{})
		go func() { _ = server.Serve(listener) }()
		var back atomic.Bool
		p, err := dialWith(func(ctx context.Context, _ string) (net.Conn, error) {
			if !back.Load() {
				return nil, errors.New("there is no socket")
			}
			return listener.DialContext(ctx)
		}, 3*time.Second, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
			opts ...grpc.CallOption) error {
			return invoke(ctx, method, req, reply, cc, opts...)
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 360 {
			if _, err := p.status(t.Context()); err == nil {
				t.Fatal("a plugin that is away answered")
			}
			time.Sleep(retry)
		}
		back.Store(true)
		if _, err := p.status(t.Context()); err != nil {
			t.Errorf("the first call after the plugin's return: %v", err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		server.Stop()
	})
}
