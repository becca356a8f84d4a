package service

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Addresses maps services to configured addresses. The keys are namespace/name or namespace/name:port.
type Addresses map[string]string

// Address returns the configured address for a port of a service, or else for all its ports.
func (a Addresses) Address(namespace, name string, port int32) (address string, found bool) {
	service := namespace + "/" + name
	if address, found = a[service+":"+strconv.Itoa(int(port))]; !found {
		address, found = a[service]
	}
	return address, found
}

// Check returns an error that names an invalid entry.
func (a Addresses) Check() error {
	for service, address := range a {
		namespace, name, ok := strings.Cut(service, "/")
		name, port, withPort := strings.Cut(name, ":")
		if _, err := strconv.ParseUint(port, 10, 16); !ok || namespace == "" || name == "" || strings.Contains(name, "/") ||
			withPort && err != nil {
			return fmt.Errorf("--webhook-service-resolver: %q is not namespace/name or namespace/name:port", service)
		}
		host, port, err := net.SplitHostPort(address)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
			return fmt.Errorf("--webhook-service-resolver: %q, the address of %s, is not host:port", address, service)
		}
	}
	return nil
}
