package lease

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
)

// manager is the Lease of kube-controller-manager.
const manager = "kube-controller-manager"

// OtherManager warns of a kube-controller-manager that does the same work. mu guards holder and until.
type OtherManager struct {
	decoder *admin.Decoder
	log     *slog.Logger

	mu     sync.Mutex
	holder string
	until  time.Time
}

// NewOther creates a follower of Leases.
func NewOther(decoder *admin.Decoder, log *slog.Logger) *OtherManager {
	return &OtherManager{decoder: decoder, log: log}
}

// Begin and End do nothing: the last Lease stays known.
func (o *OtherManager) Begin()    {}
func (o *OtherManager) End(int64) {}

// Put examines one Lease.
func (o *OtherManager) Put(p feed.Pair) {
	if namespace, name := p.Name(Resource); namespace != metav1.NamespaceSystem || name != manager {
		return
	}
	spec := coordinationv1.LeaseSpec{}
	if p.Value != nil {
		value, err := o.decoder.Decode(strings.TrimSuffix(o.decoder.Prefix, "/")+"/"+p.Key, p.Value)
		if err != nil {
			return // the next renewal replaces it
		}
		lease := coordinationv1.Lease{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value.Object, &lease); err != nil {
			return
		}
		spec = lease.Spec
	}
	o.see(&spec, p.Changed)
}

// see treats a Lease that has just been renewed as held. For any other one it goes by the times in the Lease.
func (o *OtherManager) see(spec *coordinationv1.LeaseSpec, renewed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.holder
	o.holder, o.until = "", time.Time{}
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return
	}
	lasts := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	from := spec.RenewTime.Time
	if renewed {
		from = time.Now() // its clock may be another one
	}
	if time.Since(from) > lasts {
		return
	}
	o.holder, o.until = *spec.HolderIdentity, from.Add(lasts)
	if o.holder != before {
		o.log.Warn("a kube-controller-manager runs the same controllers: leave them to it by --controllers=-*, or stop it", "holder",
			o.holder)
	}
}

// Holder returns the running kube-controller-manager, empty if there is none.
func (o *OtherManager) Holder() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().After(o.until) {
		return ""
	}
	return o.holder
}
