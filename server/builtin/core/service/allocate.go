package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// allocator allocates addresses and ports to services.
type allocator struct {
	ips   *addresses
	ports *pool
}

// grant records the addresses and ports of one operation on a service: those that it took, to release if it fails,
// and those that the service no longer uses, to release if it succeeds.
type grant struct {
	*allocator

	service                apitypes.NamespacedName
	dryRun                 bool
	ipsTaken, ipsFreed     []netip.Addr
	portsTaken, portsFreed []uint32
}

// allocate fills in the addresses and ports that svc needs beyond those of old, which may be nil. The caller has to
// call finish.
func (a *allocator) allocate(ctx context.Context, svc, old *corev1.Service, dryRun bool) (*grant, error) {
	if err := initFamilies(svc, old); err != nil {
		return nil, err
	}
	g := &grant{allocator: a, service: nameOf(svc), dryRun: dryRun}
	for _, step := range []func(context.Context, *corev1.Service, *corev1.Service) error{
		g.clusterIPs, g.nodePorts, g.healthCheckPort,
	} {
		if err := step(ctx, svc, old); err != nil {
			g.finish(ctx, false)
			return nil, err
		}
	}
	return g, nil
}

// finish releases the unused addresses and ports. It ignores the request's cancellation, since nothing else would
// release them.
func (g *grant) finish(ctx context.Context, success bool) {
	if g.dryRun {
		return
	}
	ips, ports := g.ipsTaken, g.portsTaken
	if success {
		ips, ports = g.ipsFreed, g.portsFreed
	}
	ctx = context.WithoutCancel(ctx)
	if err := errors.Join(g.ips.release(ctx, g.service, ips), g.ports.release(ctx, ports)); err != nil {
		slog.WarnContext(ctx, "cannot give back what a service used: it stays taken", "service", g.service, "error", err)
	}
}

// releaseAll releases the addresses and ports of a deleted service.
func (a *allocator) releaseAll(ctx context.Context, svc *corev1.Service) {
	g := &grant{allocator: a, service: nameOf(svc), ipsFreed: clusterIPs(svc), portsFreed: portNumbers(svc)}
	g.finish(ctx, true)
}

func nameOf(svc *corev1.Service) apitypes.NamespacedName {
	return apitypes.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// clusterIPs returns the addresses of svc.
func clusterIPs(svc *corev1.Service) (addresses []netip.Addr) {
	if !needsClusterIP(svc) {
		return nil
	}
	ips := svc.Spec.ClusterIPs
	if len(ips) == 0 && svc.Spec.ClusterIP != "" {
		ips = []string{svc.Spec.ClusterIP}
	}
	for _, text := range ips {
		if ip, ok := parseIP(text); ok {
			addresses = append(addresses, ip)
		}
	}
	return addresses
}

func parseIP(s string) (netip.Addr, bool) {
	ip, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(s))
	return ip.Unmap(), ok
}

// portNumbers returns the ports of svc that come from the pool.
func portNumbers(svc *corev1.Service) (numbers []uint32) {
	for _, p := range nodePorts(svc) {
		numbers = append(numbers, uint32(p))
	}
	if p := svc.Spec.HealthCheckNodePort; p != 0 {
		numbers = append(numbers, uint32(p))
	}
	return numbers
}

func (g *grant) clusterIPs(ctx context.Context, svc, old *corev1.Service) error {
	if old != nil && needsClusterIP(old) {
		if !needsClusterIP(svc) {
			g.ipsFreed = clusterIPs(old)
		} else if ips := clusterIPs(svc); len(ips) == 1 {
			// The second address of a service that becomes single stack.
			g.ipsFreed = subtract(clusterIPs(old), ips)
		}
		return nil
	}
	if !needsClusterIP(svc) || isHeadless(svc) {
		return nil
	}
	s := &svc.Spec
	if s.ClusterIP == "" {
		ip, err := g.nextIP(ctx, svc)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: %w", err))
		}
		g.ipsTaken = append(g.ipsTaken, ip)
		s.ClusterIP = ip.String()
		s.ClusterIPs = []string{s.ClusterIP}
		return nil
	}
	ip, ok := parseIP(s.ClusterIP)
	if !ok || !ip.Is4() {
		return apierrors.NewInternalError(fmt.Errorf("failed to parse service IP %q", s.ClusterIP))
	}
	if err := g.takeIP(ctx, svc, ip); err != nil {
		return newInvalid(svc, field.ErrorList{field.Invalid(clusterIPsPath, s.ClusterIPs,
			fmt.Sprintf("failed to allocate IP %v: %v", s.ClusterIP, err))})
	}
	g.ipsTaken = append(g.ipsTaken, ip)
	return nil
}

func (g *grant) nextIP(ctx context.Context, svc *corev1.Service) (netip.Addr, error) {
	if g.dryRun {
		return g.ips.tryNext(ctx)
	}
	return g.ips.next(ctx, svc)
}

func (g *grant) takeIP(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	if g.dryRun {
		return g.ips.tryTake(ctx, ip)
	}
	return g.ips.take(ctx, svc, ip)
}

func (g *grant) nodePorts(ctx context.Context, svc, old *corev1.Service) error {
	if old == nil {
		return g.newNodePorts(ctx, svc)
	}
	var had []uint32
	for _, p := range nodePorts(old) {
		had = append(had, uint32(p))
	}
	if needsNodePort(svc) {
		if err := g.changedNodePorts(ctx, svc, had); err != nil {
			return err
		}
	}
	if needsNodePort(svc) || needsNodePort(old) {
		g.portsFreed = subtract(had, keptPorts(svc))
	}
	return nil
}

// newNodePorts allocates node ports for a new service. Entries with the same port share the node port that the first
// of them requests. Entries with different ports must request different node ports.
func (g *grant) newNodePorts(ctx context.Context, svc *corev1.Service) error {
	if !needsNodePort(svc) {
		return nil
	}
	shared := map[int32]int32{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort == 0 && !wantsNodePorts(svc) {
			continue
		}
		var err error
		switch has := shared[p.Port]; {
		case has == 0:
			p.NodePort = requestedFor(svc, p.Port)
			err = g.nodePort(ctx, svc, i)
			shared[p.Port] = p.NodePort
		case p.NodePort == 0:
			p.NodePort = has
		case p.NodePort != has:
			err = g.nodePort(ctx, svc, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changedNodePorts allocates the node ports that an update adds. Two entries of one protocol cannot share a node
// port.
func (g *grant) changedNodePorts(ctx context.Context, svc *corev1.Service, had []uint32) error {
	type portOfProtocol struct {
		protocol corev1.Protocol
		number   int32
	}
	used := map[portOfProtocol]bool{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort == 0 && !wantsNodePorts(svc) {
			continue
		}
		if n := uint32(p.NodePort); n == 0 || !slices.Contains(had, n) && !slices.Contains(g.portsTaken, n) {
			if err := g.nodePort(ctx, svc, i); err != nil {
				return err
			}
		}
		port := portOfProtocol{p.Protocol, p.NodePort}
		if used[port] {
			return fmt.Errorf("duplicate nodePort: %v", port)
		}
		used[port] = true
	}
	return nil
}

// nodePort allocates the node port that the entry at index requests, or a free one.
func (g *grant) nodePort(ctx context.Context, svc *corev1.Service, index int) error {
	p := &svc.Spec.Ports[index]
	if p.NodePort == 0 {
		n, err := g.nextPort(ctx)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
		}
		p.NodePort = int32(n)
		return nil
	}
	if err := g.takePort(ctx, uint32(p.NodePort)); err != nil {
		return newInvalid(svc, field.ErrorList{field.Invalid(
			specPath.Child("ports").Index(index).Child("nodePort"), p.NodePort, err.Error())})
	}
	return nil
}

// takePort allocates port n. A dry run takes nothing from the pool, so the ports that it chose before are checked
// here.
func (g *grant) takePort(ctx context.Context, n uint32) error {
	if g.dryRun && slices.Contains(g.portsTaken, n) {
		return errPortTaken
	}
	if err := g.ports.take(ctx, n, g.dryRun); err != nil {
		return err
	}
	g.portsTaken = append(g.portsTaken, n)
	return nil
}

// firstPretended is the first port that a dry run returns if the client requests none.
const firstPretended = 32769

// nextPort allocates a free port. A dry run returns the port after those that it chose before, as a kube-apiserver
// does, whether it is free or not: the real request would get another one anyway.
func (g *grant) nextPort(ctx context.Context) (n uint32, err error) {
	if g.dryRun {
		n = firstPretended
		if len(g.portsTaken) > 0 {
			n = slices.Max(g.portsTaken) + 1
		}
	} else if n, err = g.ports.next(ctx); err != nil {
		return 0, err
	}
	g.portsTaken = append(g.portsTaken, n)
	return n, nil
}

// requestedFor returns the first node port that an entry with this port requests.
func requestedFor(svc *corev1.Service, port int32) int32 {
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.Port == port && p.NodePort != 0 {
			return p.NodePort
		}
	}
	return 0
}

func keptPorts(svc *corev1.Service) []uint32 {
	if !needsNodePort(svc) {
		return nil
	}
	return portNumbers(svc)
}

func (g *grant) healthCheckPort(ctx context.Context, svc, old *corev1.Service) error {
	had := old != nil && needsHealthCheck(old) && old.Spec.HealthCheckNodePort != 0
	switch {
	case had && !needsHealthCheck(svc):
		g.portsFreed = append(g.portsFreed, uint32(old.Spec.HealthCheckNodePort))
		return nil
	case had || !needsHealthCheck(svc):
		return nil
	case svc.Spec.HealthCheckNodePort == 0:
		n, err := g.nextPort(ctx)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %v: %w", n, err))
		}
		svc.Spec.HealthCheckNodePort = int32(n)
		return nil
	}
	n := uint32(svc.Spec.HealthCheckNodePort)
	if err := g.takePort(ctx, n); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", n, err))
	}
	return nil
}

// subtract returns the items of all that are not in not.
func subtract[T comparable](all, not []T) (rest []T) {
	for _, n := range all {
		if !slices.Contains(not, n) {
			rest = append(rest, n)
		}
	}
	return rest
}
