package protection

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Volumes is what kube-controller-manager calls the controller of volumes.
	Volumes        = "persistentvolume-protection-controller"
	volumesAccount = "pv-protection-controller"

	volumeFinalizer = "kubernetes.io/pv-protection"
)

// VolumeResource is what the controller of volumes follows.
var VolumeResource = corev1.SchemeGroupVersion.WithResource("persistentvolumes")

// VolumeController protects volumes.
type VolumeController struct {
	volumes *work.Objects[*corev1.PersistentVolume]
	loop    *work.Loop[string]
}

// NewVolumes makes a controller of volumes, which does nothing until it runs.
func NewVolumes(kit *work.Kit) *VolumeController {
	c := &VolumeController{volumes: work.ObjectsOf[*corev1.PersistentVolume](kit, kit.Writer(Volumes, volumesAccount), VolumeResource)}
	c.loop = work.NewLoop(Volumes, 1, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *VolumeController) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *VolumeController) State() work.State { return c.loop.State() }

// Begin begins a look at all volumes.
func (c *VolumeController) Begin() {}

// End ends it.
func (c *VolumeController) End(int64) {}

// Put has a volume looked at.
func (c *VolumeController) Put(p feed.Pair) {
	if p.Value != nil {
		_, name := p.Name(VolumeResource.GroupResource())
		c.loop.Add(name, p.Revision)
	}
}

func (c *VolumeController) try(ctx context.Context, name string, cause int64) error {
	v, found, err := c.volumes.Get(ctx, "", name)
	switch {
	case err != nil || !found:
		return err
	case work.LacksFinalizer(v, volumeFinalizer):
		return c.volumes.Update(ctx, v, "", work.Decide(cause, trace.ProtectionMissing), func(now *corev1.PersistentVolume) (bool, error) {
			return work.AddFinalizer(now, volumeFinalizer), nil
		})
	case work.WaitsForFinalizer(v, volumeFinalizer) && v.Status.Phase != corev1.VolumeBound:
		return c.volumes.Update(ctx, v, "", work.Decide(cause, trace.NotInUse), func(now *corev1.PersistentVolume) (bool, error) {
			return now.Status.Phase != corev1.VolumeBound && work.RemoveFinalizer(now, volumeFinalizer), nil
		})
	}
	return nil
}
