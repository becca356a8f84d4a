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
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// allocator gives services addresses and ports from its pools.
type allocator struct {
	ips, ports *pool
}

// grant is what one operation on a service took, to give back if it fails, and what it let go of, to give back if it
// succeeds.
type grant struct {
	*allocator

	service                string
	dryRun                 bool
	ipsTaken, ipsFreed     []uint32
	portsTaken, portsFreed []uint32
}

// allocate fills in the addresses and ports that svc needs and old, which may be nil, lacks. The caller finishes the grant.
func (a *allocator) allocate(ctx context.Context, svc, old *corev1.Service, dryRun bool) (*grant, error) {
	if err := initFamilies(svc, old); err != nil {
		return nil, err
	}
	g := &grant{allocator: a, service: svc.Namespace + "/" + svc.Name, dryRun: dryRun}
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

// finish gives back what is no longer used. It continues after the request has ended: nobody else would do it.
func (g *grant) finish(ctx context.Context, success bool) {
	if g.dryRun {
		return
	}
	ips, ports := g.ipsTaken, g.portsTaken
	if success {
		ips, ports = g.ipsFreed, g.portsFreed
	}
	ctx = context.WithoutCancel(ctx)
	if err := errors.Join(g.ips.release(ctx, ips), g.ports.release(ctx, ports)); err != nil {
		slog.WarnContext(ctx, "cannot give back what a service used: it stays taken", "service", g.service, "error", err)
	}
}

// releaseAll gives back what a deleted service used.
func (a *allocator) releaseAll(ctx context.Context, svc *corev1.Service) {
	g := &grant{allocator: a, service: svc.Namespace + "/" + svc.Name,
		ipsFreed: clusterIPNumbers(svc), portsFreed: portNumbers(svc)}
	g.finish(ctx, true)
}

// clusterIPNumbers are the addresses of svc that come out of the pool.
func clusterIPNumbers(svc *corev1.Service) (numbers []uint32) {
	if !needsClusterIP(svc) {
		return nil
	}
	ips := svc.Spec.ClusterIPs
	if len(ips) == 0 && svc.Spec.ClusterIP != "" {
		ips = []string{svc.Spec.ClusterIP}
	}
	for _, ip := range ips {
		if n, ok := parseIP(ip); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func parseIP(s string) (uint32, bool) {
	ip4 := netutils.ParseIPSloppy(s).To4()
	if ip4 == nil {
		return 0, false
	}
	return ipNumber(netip.AddrFrom4([4]byte(ip4))), true
}

// portNumbers are the ports of svc that come out of the pool.
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
			g.ipsFreed = clusterIPNumbers(old)
		} else if ips := clusterIPNumbers(svc); len(ips) == 1 {
			// The second address, of a service that becomes single stack.
			g.ipsFreed = without(clusterIPNumbers(old), ips)
		}
		return nil
	}
	if !needsClusterIP(svc) || isHeadless(svc) {
		return nil
	}
	s := &svc.Spec
	if s.ClusterIP == "" {
		n, err := g.ips.next(ctx, g.dryRun, nil)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: %w", err))
		}
		g.ipsTaken = append(g.ipsTaken, n)
		s.ClusterIP = numberIP(n).String()
		s.ClusterIPs = []string{s.ClusterIP}
		return nil
	}
	n, ok := parseIP(s.ClusterIP)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("failed to parse service IP %q", s.ClusterIP))
	}
	if err := g.ips.take(ctx, n, g.dryRun); err != nil {
		return newInvalid(svc, field.ErrorList{field.Invalid(clusterIPsPath, s.ClusterIPs,
			fmt.Sprintf("failed to allocate IP %v: %v", s.ClusterIP, err))})
	}
	g.ipsTaken = append(g.ipsTaken, n)
	return nil
}

func (g *grant) nodePorts(ctx context.Context, svc, old *corev1.Service) error {
	var had []uint32
	if old != nil {
		for _, p := range nodePorts(old) {
			had = append(had, uint32(p))
		}
	}
	if needsNodePort(svc) {
		for i := range svc.Spec.Ports {
			if err := g.nodePort(ctx, svc, i, had, old == nil); err != nil {
				return err
			}
		}
	}
	if needsNodePort(svc) || old != nil && needsNodePort(old) {
		g.portsFreed = without(had, keptPorts(svc))
	}
	return nil
}

// nodePort gives the port at index its node port. The ports of a new service that differ only in their protocol share one.
func (g *grant) nodePort(ctx context.Context, svc *corev1.Service, index int, had []uint32, isNew bool) error {
	p := &svc.Spec.Ports[index]
	if p.NodePort == 0 {
		if !wantsNodePorts(svc) {
			return nil
		}
		if isNew {
			p.NodePort = requestedFor(svc, p)
		}
	}
	if p.NodePort == 0 {
		n, err := g.ports.next(ctx, g.dryRun, slices.Concat(g.portsTaken, had))
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
		}
		g.portsTaken = append(g.portsTaken, n)
		p.NodePort = int32(n)
		return nil
	}
	n := uint32(p.NodePort)
	if slices.Contains(g.portsTaken, n) || slices.Contains(had, n) {
		return nil
	}
	if err := g.ports.take(ctx, n, g.dryRun); err != nil {
		return newInvalid(svc, field.ErrorList{field.Invalid(
			specPath.Child("ports").Index(index).Child("nodePort"), p.NodePort, err.Error())})
	}
	g.portsTaken = append(g.portsTaken, n)
	return nil
}

// requestedFor is the node port that svc has or asks for on the same port with another protocol.
func requestedFor(svc *corev1.Service, p *corev1.ServicePort) int32 {
	for i := range svc.Spec.Ports {
		if other := &svc.Spec.Ports[i]; other.Port == p.Port && other.Protocol != p.Protocol && other.NodePort != 0 {
			return other.NodePort
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
		n, err := g.ports.next(ctx, g.dryRun, g.portsTaken)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %v: %w", n, err))
		}
		g.portsTaken = append(g.portsTaken, n)
		svc.Spec.HealthCheckNodePort = int32(n)
		return nil
	}
	n := uint32(svc.Spec.HealthCheckNodePort)
	if err := g.ports.take(ctx, n, g.dryRun); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", n, err))
	}
	g.portsTaken = append(g.portsTaken, n)
	return nil
}

// without is all except the items of not.
func without(all, not []uint32) (rest []uint32) {
	for _, n := range all {
		if !slices.Contains(not, n) {
			rest = append(rest, n)
		}
	}
	return rest
}
