package garbage

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// component is the controller's name in events, journeys and metrics.
const component = "garbage-collector-controller"

// begin returns the context of a write to an object, and records the write as a journey. end ends that with *err.
func (c *Controller) begin(ctx context.Context, verb string, o *object, why decision) (_ context.Context, end func(err *error)) {
	return c.writer.Begin(ctx, work.Write{
		Verb: verb, Resource: o.target.resource, Namespace: o.namespace, Name: o.name, Cause: o.cause, Why: why,
	})
}

// delete deletes an object: exactly in its judged state, or in any state.
func (c *Controller) delete(ctx context.Context, o *object, policy metav1.DeletionPropagation, exactly bool, why decision) (err error) {
	deleter := o.storage.(rest.GracefulDeleter) // it is a target
	ctx, end := c.begin(ctx, "delete", o, why)
	defer end(&err)
	preconditions := &metav1.Preconditions{UID: &o.uid}
	if exactly {
		preconditions.ResourceVersion = new(strconv.FormatInt(o.revision, 10))
	}
	return c.writer.Delete(ctx, deleter, o.name, &metav1.DeleteOptions{Preconditions: preconditions, PropagationPolicy: &policy})
}

// errAsItIs ends an update that has nothing to change.
var errAsItIs = errors.New("nothing is to be changed")

// update changes the metadata of an object, if the object has not changed since it was read.
func (c *Controller) update(ctx context.Context, o *object, why decision, change func(metav1.Object) (changed bool)) (err error) {
	updater, ok := o.storage.(rest.Updater)
	if !ok {
		return fmt.Errorf("%s can't be updated", o.key)
	}
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		next := old.DeepCopyObject()
		m, err := meta.Accessor(next)
		if err != nil {
			return nil, err
		}
		if m.GetUID() != o.uid || !change(m) {
			return nil, errAsItIs
		}
		return next, nil
	}
	ctx, end := c.begin(ctx, "update", o, why)
	defer end(&err)
	_, err = c.writer.Update(ctx, updater, o.name, rest.DefaultUpdatedObjectInfo(nil, next))
	if apierrors.IsNotFound(err) {
		if f, _, readErr := c.read(ctx, o.key); readErr != nil || f != nil && f.uid == o.uid {
			return errors.Join(errChanged, readErr) // the object exists, but its storage has gone
		}
		return nil
	}
	if errors.Is(err, errAsItIs) {
		return nil
	}
	return err
}
