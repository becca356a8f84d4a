package factory

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	etcdtls "go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// A dead etcd is noticed within 40 s.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second

	// dialTimeout leaves a loaded machine the time for a TLS handshake.
	dialTimeout = 20 * time.Second
	// reasonTimeout bounds the wait for the reason from etcd's client after that.
	reasonTimeout = 5 * time.Second

	// maxSendBytes is more than etcd accepts, so that etcd and not the client refuses large values.
	maxSendBytes = 32 << 20
)

// dial connects to etcd and returns when one of its members has answered.
func dial(c TransportConfig) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints:            c.ServerList,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepaliveTime,
		DialKeepAliveTimeout: keepaliveTimeout,
		MaxCallSendMsgSize:   maxSendBytes,
		// Failures are the errors of requests.
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(traceCall)},
	}
	var err error
	if config.TLS, err = clientTLS(c); err != nil {
		return nil, fmt.Errorf("%s: TLS files (certificate %q, key %q, CA %q): %w",
			describe(c), c.CertFile, c.KeyFile, c.TrustedCAFile, err)
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(c), err)
	}
	if err := waitUntilReady(client, dialTimeout); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("%s cannot be reached: check that it runs, the URLs and the TLS files: %w", describe(c), err)
	}
	return client, nil
}

// traceCall has a call continue the trace of the request for which it is made. Streams belong to many requests.
func traceCall(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	var headers []string
	trace.Propagate(ctx, func(name, value string) { headers = append(headers, name, value) })
	if headers != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, headers...)
	}
	return call(ctx, method, req, reply, conn, options...)
}

// clientTLS returns nil without files: then the system's CAs verify an https URL.
func clientTLS(c TransportConfig) (*tls.Config, error) {
	if c.CertFile == "" && c.KeyFile == "" && c.TrustedCAFile == "" {
		return nil, nil
	}
	if c.TrustedCAFile != "" {
		// etcd's own reader accepts any file, and then every handshake fails.
		pem, err := os.ReadFile(c.TrustedCAFile)
		if err != nil {
			return nil, err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, errors.New("the CA file holds no certificate")
		}
	}
	info := etcdtls.TLSInfo{CertFile: c.CertFile, KeyFile: c.KeyFile, TrustedCAFile: c.TrustedCAFile}
	return info.ClientConfig()
}

func waitUntilReady(client *clientv3.Client, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(client.Ctx(), timeout)
	defer cancel()
	conn := client.ActiveConnection()
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, state) {
			return unreachableReason(conn)
		}
	}
}

// unreachableReason opens a stream: only the error of a call has the reason of a broken connection, and etcd's client
// would retry other calls until they time out.
func unreachableReason(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), reasonTimeout)
	defer cancel()
	_, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/etcdserverpb.Watch/Watch")
	if err != nil {
		return errors.New(status.Convert(err).Message())
	}
	return errors.New("it did not answer in time")
}
