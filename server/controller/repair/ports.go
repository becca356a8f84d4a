package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// portsName is the controller's name in a Kubernetes API server.
	portsName = "portallocator-repair-controller"

	// portsPrefix is the key prefix of the RangeAllocations.
	portsPrefix = "ranges"
	portsKey    = portsPrefix + "/servicenodeports"
	// leakedAfter is the time that a port stays taken without a service. Upstream looks every 3 minutes, and
	// frees it at the 4th look.
	leakedAfter = 9 * time.Minute

	portAllocation = "PortAllocation"
)

// allocations is the name of the stored ports as a resource. No API serves it.
var allocations = corev1.SchemeGroupVersion.WithResource("servicenodeportallocations")

// AllocationResource is the resource that a controller follows for the taken ports.
var AllocationResource = schema.GroupVersionResource{Resource: portsPrefix}

// mender is the storage of services.
type mender interface {
	MendPorts(ctx context.Context, since int64, leaked []uint32) (changed bool, err error)
}

// Ports corrects the taken node ports. mu guards known and told.
type Ports struct {
	*work.Loop[string]
	kit      *work.Kit
	log      *slog.Logger
	writer   *work.Writer
	services *work.Objects[*corev1.Service]
	recorder recorder
	// patience is [leakedAfter]; tests shorten it.
	patience time.Duration

	// look holds the keys that were put since Begin; nil between looks. Only the feed's goroutine uses it.
	look *ledger

	mu    sync.Mutex
	known *ledger
	// told holds the findings that already have an event.
	told map[finding]bool
}

// NewPorts creates the controller. It does nothing until it runs.
func NewPorts(kit *work.Kit) *Ports {
	writer := kit.ServerWriter(portsName)
	c := &Ports{
		kit: kit, log: kit.Log, writer: writer, recorder: newRecorder(kit, writer), patience: leakedAfter,
		services: work.ObjectsOf[*corev1.Service](kit, writer, ServiceResource),
		known:    newLedger(), told: map[finding]bool{},
	}
	c.Loop = work.NewLoop(portsName, 1, kit, c.try)
	return c
}

// Begin begins a look at all keys.
func (c *Ports) Begin() { c.look = newLedger() }

// End judges what was put. The time before is unknown: ports without a service start to wait anew.
func (c *Ports) End(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.look = c.look, nil
	c.known.revision = revision
	c.known.suspect(time.Now())
	if c.known.wrong() {
		c.Add(portsKey, 0)
	}
	c.waitForLeaks(0)
}

// Put takes the value of a key at a revision.
func (c *Ports) Put(p feed.Pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.known
	if c.look != nil {
		is = c.look
	}
	is.revision = p.Revision
	odd := false
	switch {
	case p.Key == portsKey:
		odd = c.putAllocation(is, p)
	case strings.HasPrefix(p.Key, portsPrefix+"/"):
		return
	default:
		odd = c.putService(is, p)
	}
	if !p.Changed {
		return
	}
	is.suspect(time.Now())
	if leaked := c.waitForLeaks(p.Revision); odd || len(leaked) > 0 {
		c.Add(portsKey, p.Revision)
	}
}

func (c *Ports) putAllocation(is *ledger, p feed.Pair) (odd bool) {
	stored := &corev1.RangeAllocation{}
	if p.Value != nil {
		var err error
		if stored, err = work.Value[*corev1.RangeAllocation](c.kit, p.Key, p.Value); err != nil {
			c.log.Warn("it cannot be read which node ports are taken: no service can get one", "key", p.Key, "error", err)
			is.readable = false
			return false
		}
	}
	if err := is.allocate(stored); err != nil {
		c.log.Warn("it is not known which node ports are taken: no service can get one", "key", p.Key, "error", err)
		return false
	}
	return is.wrong()
}

func (c *Ports) putService(is *ledger, p feed.Pair) (odd bool) {
	namespace, name := p.Name(ServiceResource.GroupResource())
	key := namespace + "/" + name
	delete(is.unreadable, key)
	if p.Value == nil {
		is.put(key, nil)
		return false
	}
	svc, err := work.Value[*corev1.Service](c.kit, p.Key, p.Value)
	if err != nil {
		c.log.Warn("a service cannot be read: no node port is freed until it can be, or is gone", "key", p.Key, "error", err)
		is.unreadable[key] = true
		return false
	}
	return is.put(key, nodePorts(svc))
}

// waitForLeaks returns the leaked ports, and schedules a look for the next ones.
func (c *Ports) waitForLeaks(cause int64) (leaked []uint32) {
	leaked, next := c.known.leaked(time.Now().Add(-c.patience))
	if !next.IsZero() {
		c.AddAfter(portsKey, cause, time.Until(next.Add(c.patience)))
	}
	return leaked
}

// try reports problems that it can't correct, marks ports that services have, and frees leaked ones.
func (c *Ports) try(ctx context.Context, _ string, cause int64) error {
	c.mu.Lock()
	findings, unmarked := c.known.findings()
	leaked := c.waitForLeaks(cause)
	since := c.known.revision
	var untold []finding
	now := map[finding]bool{}
	for _, f := range findings {
		if now[f] = true; !c.told[f] {
			untold = append(untold, f)
		}
	}
	c.told = now
	c.mu.Unlock()
	var errs []error
	for _, f := range untold {
		errs = append(errs, c.tell(ctx, f, cause))
	}
	if unmarked > 0 || len(leaked) > 0 {
		errs = append(errs, c.mend(ctx, since, unmarked, leaked, cause))
	}
	return errors.Join(errs...)
}

// tell creates an event about a service, if it still has the port.
func (c *Ports) tell(ctx context.Context, f finding, cause int64) error {
	namespace, name, _ := strings.Cut(f.service, "/")
	svc, found, err := c.services.Get(ctx, namespace, name)
	if err != nil {
		return fmt.Errorf("read the service %s: %w", f.service, err)
	}
	if !found || !slices.Contains(nodePorts(svc), f.port) {
		return nil
	}
	return c.recorder.tell(ctx, aboutService(svc), f.trouble, cause)
}

var portsDiffer = trace.Because("ports-differ",
	"node ports that services have and that are not marked as taken: {unmarked}; that are marked and that no "+
		"service has: {leaked}",
	"Service 在用但未标记为已占用的节点端口：{unmarked} 个；已标记但没有 Service 使用的：{leaked} 个")

// mend corrects the stored ports.
func (c *Ports) mend(ctx context.Context, since int64, unmarked int, leaked []uint32, cause int64) (err error) {
	services, ok := c.kit.Storage(ServiceResource).(mender)
	if !ok {
		return nil
	}
	void := false
	ctx, end := c.writer.Begin(ctx, work.Write{
		Verb: "update", Resource: allocations, Name: "servicenodeports", Cause: cause, Void: &void,
		Why: func(step *trace.Step) { step.Why(portsDiffer, int64(unmarked), int64(len(leaked))) },
	})
	defer end(&err)
	changed, err := services.MendPorts(ctx, since, leaked)
	void = !changed && err == nil
	return err
}

// nodePorts returns the node ports of a service. Several protocols can share a port, which counts once. Two
// entries of one protocol can't share it.
func nodePorts(svc *corev1.Service) (ports []uint32) {
	type port struct {
		number   int32
		protocol corev1.Protocol
	}
	seen := map[port]bool{}
	for _, p := range svc.Spec.Ports {
		n := port{p.NodePort, p.Protocol}
		if p.NodePort != 0 && (seen[n] || !slices.Contains(ports, uint32(p.NodePort))) {
			ports = append(ports, uint32(p.NodePort))
		}
		seen[n] = true
	}
	if p := svc.Spec.HealthCheckNodePort; p != 0 && (seen[port{p, corev1.ProtocolTCP}] || !slices.Contains(ports, uint32(p))) {
		ports = append(ports, uint32(p))
	}
	return ports
}
