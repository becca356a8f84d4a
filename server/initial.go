//lint:file-ignore SA1019 the leases of API servers are stored as Endpoints, which are deprecated

package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
)

// startTasks starts to create, in the background, the objects that every cluster has, unless the options say otherwise.
func (s *Server) startTasks(context.Context) error {
	if !s.options.InitialObjects {
		return nil
	}
	kube := s.chain.kube
	config := bootstrap.Config{
		Handler: kube.Router, ClientCAs: s.home.tls.ClientCAsPEM, Log: s.log, RolesKnown: s.authorization.roles.Await,
		Serves: func(resource schema.GroupVersionResource) bool { return kube.Storage(resource) != nil },
	}
	if proxy := &s.options.Access.RequestHeader; proxy.ClientCAFile != "" {
		cas, err := os.ReadFile(proxy.ClientCAFile)
		if err != nil {
			return fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		config.Proxy = &bootstrap.Proxy{
			CAs: func() ([]byte, error) { return cas, nil }, AllowedNames: proxy.AllowedNames,
			UsernameHeaders: proxy.UsernameHeaders, UIDHeaders: proxy.UIDHeaders, GroupHeaders: proxy.GroupHeaders,
			ExtraHeaderPrefixes: proxy.ExtraHeaderPrefixes,
		}
	} else if s.options.Aggregator.Own(proxy) {
		config.Proxy = &bootstrap.Proxy{
			CAs: s.home.proxy.CA, AllowedNames: []string{identity.ProxyUser}, UsernameHeaders: []string{"X-Remote-User"},
			UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"},
			ExtraHeaderPrefixes: []string{"X-Remote-Extra-"},
		}
	}
	ips, err := netip.ParsePrefix(s.options.ServiceIPs)
	if err != nil {
		return fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	config.ServiceIPs = ips.Masked()
	if config.Address, err = advertisedAddress(s.options, s.home.address); err != nil {
		s.log.Info("this server is no endpoint of the service kubernetes: --advertise-address says at which address it can be reached",
			"reason", err)
	}
	if s.options.EndpointReconciler == options.ReconcilerLease {
		leases, destroy, err := leaseStorage(s.storage.getter)
		if err != nil {
			return err
		}
		s.onClose(func() error { destroy(); return nil })
		config.Leases = leases
	}
	s.tasks = bootstrap.New(config)
	s.run(s.tasks.Run)
	return nil
}

// leaseStorage makes the storage of the leases through which servers on one etcd know of each other.
func leaseStorage(getter backend.RESTOptionsGetter) (store.Interface, backend.DestroyFunc, error) {
	opts, err := getter.GetRESTOptions(corev1.Resource("apiserveripinfo"), &corev1.Endpoints{})
	if err != nil {
		return nil, nil, fmt.Errorf("storage of the leases of servers: %w", err)
	}
	newLease := func() runtime.Object { return &corev1.Endpoints{} }
	newList := func() runtime.Object { return &corev1.EndpointsList{} }
	return backend.NewRawStorage(opts.StorageConfig, newLease, newList, bootstrap.LeasesPrefix)
}

// advertisedAddress returns the address at which clients in the cluster reach this server. --advertise-address sets it.
// Else it is the address that the server listens on, or this machine's address on its network if that is the address of
// all interfaces. A server on loopback is reachable only from this machine: the result is an error and an address with
// a port only.
func advertisedAddress(o *options.Options, listens string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip := o.AdvertiseAddress
	if len(ip) == 0 {
		if only := net.ParseIP(host); only.IsLoopback() {
			return netip.AddrPortFrom(netip.Addr{}, uint16(number)), fmt.Errorf("it listens on %s, for this machine alone", host)
		}
		if ip, err = utilnet.ResolveBindAddress(net.ParseIP(host)); err != nil {
			return netip.AddrPortFrom(netip.Addr{}, uint16(number)), err
		}
	}
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), nil
}
