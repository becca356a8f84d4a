package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

var (
	noGraceKnown  = trace.Because("no-grace-known", "the resource knows no grace period", "该资源没有宽限期")
	noGraceWanted = trace.Because("no-grace-wanted",
		"the strategy wants no grace period for this object",
		"Strategy 不为该对象设宽限期")
	graceBegins = trace.Because("grace-begins",
		"a grace period of {seconds} s begins",
		"{seconds} 秒的宽限期开始")
)

// BeforeDelete decides how an object is deleted. graceful: it marked obj as deleting, with the grace period of
// options. pending: obj was marked already, and this request changes nothing. Neither: obj is as it was, and only
// finalizers can delay the removal. options may get the grace period that holds.
func BeforeDelete(ctx context.Context, strategy rest.RESTDeleteStrategy, obj runtime.Object, options *metav1.DeleteOptions) (graceful,
	pending bool, err error) {
	m, kind, err := objectMetaAndKind(strategy, obj)
	if err != nil {
		return false, false, err
	}
	ctx, step := trace.Start(ctx, steps.StoreBeforeDelete, kind.Kind+" "+m.GetName())
	defer step.End(&err)
	step.Before(obj)

	if errs := validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return false, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if err := checkPreconditions(options.Preconditions, m, kind); err != nil {
		return false, false, err
	}
	atLeastZero(options.GracePeriodSeconds, func(s *int64) { options.GracePeriodSeconds = s })

	gracefulStrategy, ok := strategy.(rest.RESTGracefulDeleteStrategy)
	if !ok {
		step.Why(noGraceKnown)
		return false, false, nil
	}
	if m.GetDeletionTimestamp() != nil {
		graceful, pending = shortenGrace(m, options, step)
		step.After(obj)
		return graceful, pending, nil
	}
	if !gracefulStrategy.CheckGracefulDelete(ctx, obj, options) {
		step.Why(noGraceWanted)
		return false, false, nil
	}
	if options.GracePeriodSeconds == nil {
		return false, false, apierrors.NewInternalError(errors.New("options.GracePeriodSeconds should not be nil"))
	}
	step.Why(graceBegins, *options.GracePeriodSeconds)
	beginGrace(m, *options.GracePeriodSeconds)
	step.After(obj)
	return true, false, nil
}

// atLeastZero turns a negative time into the shortest one.
func atLeastZero(seconds *int64, set func(*int64)) {
	if seconds != nil && *seconds < 0 {
		shortest := int64(1)
		set(&shortest)
	}
}

// checkPreconditions fails early, before anything is prepared. The storage checks again when it writes.
func checkPreconditions(p *metav1.Preconditions, m metav1.Object, kind schema.GroupVersionKind) error {
	if p == nil {
		return nil
	}
	// In these two messages upstream names the kind where others name the resource.
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
	if p.UID != nil && *p.UID != m.GetUID() {
		return apierrors.NewConflict(resource, m.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated",
			*p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(resource, m.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have "+
				"been modified",
			*p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// beginGrace marks an object as deleting, for the first time. Its controllers must notice, so the generation moves.
func beginGrace(m metav1.Object, seconds int64) {
	end := metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second))
	m.SetDeletionTimestamp(&end)
	m.SetDeletionGracePeriodSeconds(&seconds)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
}

var (
	graceOver = trace.Because("grace-over", "its grace period is over", "宽限期已过")
	graceKept = trace.Because("grace-kept",
		"it is being deleted, and no other grace period is asked for",
		"正在删除，请求没有要求新的宽限期")
	graceNotLonger = trace.Because("grace-not-longer",
		"it is being deleted, and a grace period only ever gets shorter",
		"正在删除，宽限期只能缩短")
	graceShortened = trace.Because("grace-shortened",
		"its grace period is shortened from {before} s to {seconds} s",
		"宽限期从 {before} 秒缩短为 {seconds} 秒")
)

// shortenGrace is for an object that is being deleted: its grace period can become shorter, never longer. One that has
// none left is neither graceful nor pending, so that a deletion that got stuck between its mark and its end can be
// finished by asking again.
func shortenGrace(m metav1.Object, options *metav1.DeleteOptions, step *trace.Step) (graceful, pending bool) {
	atLeastZero(m.GetDeletionGracePeriodSeconds(), m.SetDeletionGracePeriodSeconds)
	had := m.GetDeletionGracePeriodSeconds()
	switch {
	case had == nil || *had == 0:
		step.Why(graceOver)
		return false, false
	case options.GracePeriodSeconds == nil:
		step.Why(graceKept)
		options.GracePeriodSeconds = had
		return false, true
	case *options.GracePeriodSeconds >= *had:
		step.Why(graceNotLonger)
		return false, true
	}
	seconds := *options.GracePeriodSeconds
	asked := m.GetDeletionTimestamp().Add(-time.Duration(*had) * time.Second)
	end := metav1.NewTime(asked.Add(time.Duration(seconds) * time.Second))
	if now := metav1.Now(); end.Before(&now) {
		end = now
		if seconds != 0 {
			// A client still has to see the mark and end the deletion with a grace period of 0: leave it the shortest
			// possible time.
			seconds = 1
		}
	}
	step.Why(graceShortened, *had, seconds)
	m.SetDeletionTimestamp(&end)
	m.SetDeletionGracePeriodSeconds(&seconds)
	return true, false
}
