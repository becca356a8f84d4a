package kms

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	kmsv2 "k8s.io/kms/apis/v2"
)

// maxReply is more than any answer of the protocol needs.
const maxReply = 64 << 10

// minConnect limits an attempt to connect, by gRPC's own value.
const minConnect = 20 * time.Second

// maxText limits a plugin's text in an error: each failed read repeats it, in its answer and in the log.
const maxText = 512

func brief(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// concise is an error of a call with a brief text.
func concise(err error) error {
	said, ok := status.FromError(err)
	if !ok || len(said.Message()) <= maxText {
		return err
	}
	return status.Error(said.Code(), brief(said.Message()))
}

// SocketOf returns the path of an endpoint's socket: unix:///path, or unix:///@name for an abstract one.
func SocketOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", fmt.Errorf("invalid endpoint %q for remote KMS provider, error: %w", endpoint, err)
	case u.Scheme != "unix":
		return "", fmt.Errorf("unsupported scheme %q for remote KMS provider", u.Scheme)
	case u.Path == "" && u.Host == "":
		return "", fmt.Errorf("invalid endpoint %q for remote KMS provider: it has no path", endpoint)
	case len(u.Path) > 1 && u.Path[1] == '@':
		return u.Path[1:], nil
	}
	return u.Path, nil
}

// plugin asks the service at a socket.
type plugin struct {
	client  kmsv2.KeyManagementServiceClient
	close   func() error
	timeout time.Duration
}

// dial makes a plugin. The connection is made by the first call, and again when it is lost.
func dial(endpoint string, timeout time.Duration, each grpc.UnaryClientInterceptor) (*plugin, error) {
	socket, err := SocketOf(endpoint)
	if err != nil {
		return nil, err
	}
	p, err := dialWith(func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}, timeout, each)
	if err != nil {
		return nil, fmt.Errorf("connect to the KMS plugin at %s: %w", endpoint, err)
	}
	return p, nil
}

func dialWith(dialer func(context.Context, string) (net.Conn, error), timeout time.Duration,
	each grpc.UnaryClientInterceptor) (*plugin, error) {
	again := backoff.DefaultConfig
	// By gRPC's own limit a plugin that was away for long would be found two minutes after its return, when calls have
	// long ended.
	again.MaxDelay = breather
	conn, err := grpc.NewClient("passthrough:///kms",
		grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // whoever may open the socket is believed
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: minConnect}),
		grpc.WithContextDialer(dialer),
		grpc.WithChainUnaryInterceptor(each),
	)
	if err != nil {
		return nil, err
	}
	return &plugin{kmsv2.NewKeyManagementServiceClient(conn), conn.Close, timeout}, nil
}

func (p *plugin) status(ctx context.Context) (*kmsv2.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.client.Status(ctx, &kmsv2.StatusRequest{})
}

func (p *plugin) encrypt(ctx context.Context, plain []byte) (*kmsv2.EncryptResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.client.Encrypt(ctx, &kmsv2.EncryptRequest{Uid: uuid.NewString(), Plaintext: plain})
}

func (p *plugin) decrypt(ctx context.Context, s *source) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	response, err := p.client.Decrypt(ctx, &kmsv2.DecryptRequest{
		Uid: uuid.NewString(), Ciphertext: s.encrypted, KeyId: s.keyID, Annotations: s.annotations,
	})
	if err != nil {
		return nil, err
	}
	return response.Plaintext, nil
}
