package ttlafterfinished

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// Name is what kube-controller-manager calls the controller, and the service account that it acts as.
const Name = "ttl-after-finished-controller"

// workers is how many jobs are looked at at a time, as upstream.
const workers = 5

// Resource is what the controller follows.
var Resource = batchv1.SchemeGroupVersion.WithResource("jobs")

// Controller deletes finished jobs.
type Controller struct {
	jobs *work.Objects[*batchv1.Job]
	loop *work.Loop[types.NamespacedName]
}

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{jobs: work.ObjectsOf[*batchv1.Job](kit, kit.Writer(Name, Name), Resource)}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Controller) State() work.State { return c.loop.State() }

// Begin begins a look at all jobs.
func (c *Controller) Begin() {}

// End ends it.
func (c *Controller) End(int64) {}

// Put has a job looked at.
func (c *Controller) Put(p feed.Pair) {
	if p.Value == nil {
		return
	}
	namespace, name := p.Name(Resource.GroupResource())
	c.loop.Add(types.NamespacedName{Namespace: namespace, Name: name}, p.Revision)
}

// try deletes a job whose time has come.
func (c *Controller) try(ctx context.Context, key types.NamespacedName, cause int64) error {
	job, found, err := c.jobs.Get(ctx, key.Namespace, key.Name)
	if err != nil || !found {
		return err
	}
	ends, ok := ends(job)
	if !ok {
		return nil
	}
	if left := time.Until(ends); left > 0 {
		c.loop.AddAfter(key, cause, left)
		return nil
	}
	lives := int64(*job.Spec.TTLSecondsAfterFinished)
	return c.jobs.Delete(ctx, job, metav1.DeletePropagationForeground, work.Decision{
		Cause: cause, Why: func(step *trace.Step) { step.Why(trace.JobOutlived, lives) },
	})
}

// ends is when a job is to be deleted; false if never, as far as is known.
func ends(job *batchv1.Job) (time.Time, bool) {
	if job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}, false
	}
	for _, condition := range job.Status.Conditions {
		finished := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		if finished && condition.Status == corev1.ConditionTrue {
			lives := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
			return condition.LastTransitionTime.Add(lives), !condition.LastTransitionTime.IsZero()
		}
	}
	return time.Time{}, false
}
