package kubelet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAddressesOfThisMachine: a name that has an address of this machine by the time of the connection leads nowhere, nor does an address
// that only this machine reaches. A client of kubelets may be on the same machine as one.
func TestAddressesOfThisMachine(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the secrets of this machine") }))
	t.Cleanup(server.Close)
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1.2.3", "::ffff:127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "255.255.255.255"} {
		for name, over := range map[string]http.RoundTripper{"pods": c.pods, "proxied": c.proxied} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(host, port), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := over.RoundTrip(req)
			if err == nil {
				_ = res.Body.Close()
				t.Errorf("%s, %s: %s", host, name, res.Status)
				continue
			}
			if !strings.Contains(err.Error(), "address not allowed") && !strings.Contains(err.Error(), "unreachable") && !strings.Contains(err.Error(), "cannot assign") {
				t.Errorf("%s, %s: %v", host, name, err)
			}
		}
	}
	for name, over := range map[string]http.RoundTripper{"verified": c.verified, "unverified": c.unverified} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := over.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = res.Body.Close()
	}
}

// TestProxyOfTheEnvironment: requests to pods may go by a proxy on this machine.
func TestProxyOfTheEnvironment(t *testing.T) {
	for proxy, address := range map[string]string{
		"http://127.0.0.1:3128": "127.0.0.1:3128", "127.0.0.1:3128": "127.0.0.1:3128", "https://proxy.example": "proxy.example:443", "http://[::1]": "[::1]:80",
	} {
		t.Setenv("HTTPS_PROXY", proxy)
		if !isProxy(address) || isProxy("127.0.0.1:6443") {
			t.Errorf("%s: %v, and another %v", proxy, isProxy(address), isProxy("127.0.0.1:6443"))
		}
	}
}
