package webhook

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apiserver/pkg/util/webhook"
)

// Services says where the services of webhooks are: addresses by namespace/name, or by namespace/name:port. Those that it does not
// have are reached by the name that a cluster's DNS has for them.
type Services map[string]string

var _ webhook.ServiceResolver = Services{}

// ResolveEndpoint returns where a service is.
func (s Services) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if address, ok := s.Address(namespace, name, port); ok {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	return webhook.NewDefaultServiceResolver().ResolveEndpoint(namespace, name, port)
}

// Address is where the flag says that a service is.
func (s Services) Address(namespace, name string, port int32) (address string, found bool) {
	service := namespace + "/" + name
	if address, found = s[service+":"+strconv.Itoa(int(port))]; !found {
		address, found = s[service]
	}
	return address, found
}

// Check says which entry is wrong.
func (s Services) Check() error {
	for service, address := range s {
		namespace, name, ok := strings.Cut(service, "/")
		name, port, withPort := strings.Cut(name, ":")
		if _, err := strconv.ParseUint(port, 10, 16); !ok || namespace == "" || name == "" || strings.Contains(name, "/") || withPort && err != nil {
			return fmt.Errorf("--webhook-service-resolver: %q is not namespace/name or namespace/name:port", service)
		}
		host, port, err := net.SplitHostPort(address)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
			return fmt.Errorf("--webhook-service-resolver: %q, the address of %s, is not host:port", address, service)
		}
	}
	return nil
}
