package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Config configures the server's connections to kubelets.
type Config struct {
	// CertFile and KeyFile are the client certificate of the server. They are read anew for each connection.
	CertFile, KeyFile string
	// CAFile holds the authorities of kubelets. Without it, a kubelet's certificate is not verified.
	CAFile string
	// AddressTypes lists the types of a node's addresses, the preferred ones first.
	AddressTypes []string
}

const (
	// defaultPort is a kubelet's port, unless its node's status has another.
	defaultPort = 10250
	// dialWait limits the time to connect.
	dialWait = 30 * time.Second
	// handshakeWait limits the TLS handshake.
	handshakeWait = 10 * time.Second
	// writeWait limits a write to a node or a pod. server/handler limits writes to clients in the same way.
	writeWait = 30 * time.Second
	// idleMost limits the idle connections to one kubelet.
	idleMost = 25
)

// Client sends requests to kubelets and to addresses of pods.
type Client struct {
	// nodes is set once, before the first request: storages are created after a Client.
	nodes        rest.Storage
	addressTypes []string
	verified     *http.Transport
	unverified   *http.Transport
	// proxied is verified for requests whose path and body come from clients. pods is for requests to pods and
	// to other ports of nodes. Neither connects to a loopback or link-local
	// address.
	proxied *http.Transport
	pods    *http.Transport
}

// New creates a Client. It fails if a file can't be read.
func New(c Config) (*Client, error) {
	client := &Client{addressTypes: c.AddressTypes}
	kubelets := &tls.Config{InsecureSkipVerify: c.CAFile == ""}
	if c.CAFile != "" {
		authorities, err := readAuthorities(c.CAFile)
		if err != nil {
			return nil, err
		}
		kubelets.RootCAs = authorities
	}
	if c.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			certificate, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			return &certificate, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("client certificate for kubelets: %w", err)
		}
		kubelets.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	unverified := kubelets.Clone()
	unverified.InsecureSkipVerify, unverified.RootCAs = true, nil
	client.verified, client.unverified = newTransport(kubelets, dial), newTransport(unverified, dial)
	client.proxied = newTransport(kubelets.Clone(), dialOthers)
	// No certificate can name a pod's address, which is unknown before the pod runs.
	client.pods = newTransport(&tls.Config{InsecureSkipVerify: true}, dialOthers)
	return client, nil
}

func readAuthorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authority of kubelets: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("authority of kubelets: %s has no certificate", file)
	}
	return pool, nil
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func newTransport(config *tls.Config, by dialer) *http.Transport {
	return utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: handshakeWait,
		MaxIdleConnsPerHost: idleMost,
		DialContext:         by,
	})
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialBy(ctx, &net.Dialer{Timeout: dialWait, KeepAlive: dialWait}, network, address)
}

// dialOthers refuses addresses that [IsRemote] does not allow. It checks the address of the connection, since a
// name may have resolved to another one before. A proxy from this machine's environment may have any address.
func dialOthers(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialWait, KeepAlive: dialWait}
	if !isProxy(address) {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err == nil && !IsRemote(net.IP(to.Addr().AsSlice())) {
				err = errors.New("address not allowed")
			}
			return err
		}
	}
	return dialBy(ctx, d, network, address)
}

// IsRemote reports whether an address may belong to another machine: it is neither a loopback address nor one of
// the link, where clouds serve metadata.
func IsRemote(ip net.IP) bool { return ip.IsGlobalUnicast() }

// isProxy reports whether the environment names an address as a proxy.
func isProxy(address string) bool {
	from := httpproxy.FromEnvironment()
	return slices.ContainsFunc([]string{from.HTTPProxy, from.HTTPSProxy}, func(text string) bool {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return false
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
		}
		return net.JoinHostPort(u.Hostname(), port) == address
	})
}

func dialBy(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return patientConn{conn}, nil
}

// patientConn closes the connection to a slow peer: a write fails after 30 seconds.
type patientConn struct{ net.Conn }

func (c patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close closes the idle connections.
func (c *Client) Close() {
	for _, t := range []*http.Transport{c.verified, c.unverified, c.proxied, c.pods} {
		t.CloseIdleConnections()
	}
}

// SetNodes sets the source of nodes. It must be called before the first request.
func (c *Client) SetNodes(nodes rest.Storage) { c.nodes = nodes }

// Pods returns the transport to addresses of pods.
func (c *Client) Pods() http.RoundTripper { return c.pods }

// ConnectionInfo holds the address of a node's kubelet, and the transports to it.
type ConnectionInfo struct {
	Scheme, Hostname, Port string
	Transport              http.RoundTripper
	// ProxyTransport is Transport for requests whose path and body come from the client.
	ProxyTransport http.RoundTripper
	// InsecureSkipTLSVerifyTransport does not verify the kubelet's certificate.
	InsecureSkipTLSVerifyTransport http.RoundTripper
	// NodeFeatures lists the features that the node's status declares.
	NodeFeatures []string
}

// Host returns the kubelet's host and port.
func (i *ConnectionInfo) Host() string { return net.JoinHostPort(i.Hostname, i.Port) }

// GetConnectionInfo finds a node's kubelet by the node's status.
func (c *Client) GetConnectionInfo(ctx context.Context, name string) (info *ConnectionInfo, err error) {
	ctx, step := trace.Start(ctx, steps.KubeletLocate, name)
	defer step.End(&err)
	node, err := builtin.Get[*corev1.Node](ctx, c.nodes, name, &metav1.GetOptions{})
	if errors.Is(err, builtin.ErrNotServed) {
		return nil, errors.New("nodes are not served")
	}
	if err != nil {
		return nil, err
	}
	host, err := preferredAddress(node, c.addressTypes)
	if err != nil {
		return nil, err
	}
	port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if port <= 0 {
		port = defaultPort
	}
	info = &ConnectionInfo{
		Scheme: "https", Hostname: host, Port: strconv.Itoa(port), NodeFeatures: node.Status.DeclaredFeatures,
		Transport: c.verified, ProxyTransport: c.proxied, InsecureSkipTLSVerifyTransport: c.unverified,
	}
	step.Text("kubelet", info.Host())
	return info, nil
}

// preferredAddress returns the first address of the first type that the node has.
func preferredAddress(node *corev1.Node, types []string) (string, error) {
	for _, t := range types {
		i := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return string(a.Type) == t })
		if i >= 0 {
			return node.Status.Addresses[i].Address, nil
		}
	}
	return "", fmt.Errorf("no preferred addresses found; known addresses: %v", node.Status.Addresses)
}
