package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	podresource "k8s.io/component-helpers/resource"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// limitRanges reads the LimitRanges.
type limitRanges struct {
	plugin.Objects[*corev1.LimitRange]
}

// limitRangerAnnotation lists the amounts of a pod that come from its namespace and not from its author.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

var limitsHeld = trace.Because("limits-held",
	"it is within the {count} limit ranges of the namespace",
	"符合命名空间的 {count} 个 LimitRange")

// limitRanger fills in the default amounts of the namespace for containers, and checks pods and claims against
// its bounds.
func limitRanger(kit *plugin.Kit) plugin.Plugin {
	l := limitRanges{plugin.ObjectsOf[*corev1.LimitRange](kit, corev1.SchemeGroupVersion.WithResource("limitranges"))}
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods", "pods/resize", "persistentvolumeclaims"),
		Admit: func(ctx context.Context, w plugin.Write) error {
			pod, ok := w.GetObject().(*corev1.Pod)
			if !ok { // a claim has no amounts to fill in, so nothing is read for it
				w.Step.Why(pluginLeft)
				return nil
			}
			return l.each(func(w plugin.Write, all []*corev1.LimitRange) error { return addAll(w, pod, all) })(ctx, w)
		},
		Validate: l.each(func(w plugin.Write, all []*corev1.LimitRange) error {
			for _, limits := range all {
				if err := exceeds(w, limits); err != nil {
					return w.Refusal("%w", err)
				}
			}
			w.Step.Why(limitsHeld, int64(len(all)))
			return nil
		}),
	}
}

var (
	limitsAdded = trace.Because("limits-added",
		"limit ranges of the namespace have {count} amounts that its containers don't name",
		"容器没有写的 {count} 项资源用量取自命名空间的 LimitRange")
	limitsThere = trace.Because("limits-there",
		"the namespace has {count} limit ranges, and they add nothing",
		"命名空间有 {count} 个 LimitRange，没有需要补充的")
)

// addAll fills in the defaults of all ranges.
func addAll(w plugin.Write, pod *corev1.Pod, all []*corev1.LimitRange) error {
	var added int64
	for _, limits := range all {
		added += addDefaults(pod, limits)
	}
	if added == 0 {
		w.Step.Why(limitsThere, int64(len(all)))
	} else {
		w.Step.Why(limitsAdded, added)
	}
	return nil
}

// each calls f with the ranges of the namespace. It skips objects that are being deleted. It also skips updates
// of a pod without a subresource, which can't change amounts.
func (l limitRanges) each(f func(plugin.Write, []*corev1.LimitRange) error) plugin.Func {
	return func(ctx context.Context, w plugin.Write) error {
		if w.GetOperation() == admission.Update && w.GetKind().Kind == "Pod" && w.GetSubresource() == "" || ending(w) {
			w.Step.Why(pluginLeft)
			return nil
		}
		all, err := l.List(ctx, w.GetNamespace())
		if err != nil {
			return w.Refusal("unable to %s %v at this time because there was an error enforcing limit ranges", w.GetOperation(),
				w.GetResource())
		}
		return f(w, all)
	}
}

func ending(w plugin.Write) bool {
	if w.GetOldObject() == nil {
		return false
	}
	old, err := meta.Accessor(w.GetOldObject())
	return err == nil && old.GetDeletionTimestamp() != nil
}

// addDefaults fills in a range's defaults for containers that lack the amounts, and counts the amounts.
func addDefaults(pod *corev1.Pod, limits *corev1.LimitRange) (added int64) {
	requested, limited := corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range limits.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(requested, item.DefaultRequest)
			maps.Copy(limited, item.Default)
		}
	}
	var told []string
	add := func(to *corev1.ResourceList, from corev1.ResourceList, what, container string) {
		if *to == nil {
			*to = corev1.ResourceList{}
		}
		var names []string
		for name, amount := range from {
			if _, ok := (*to)[name]; !ok {
				(*to)[name] = amount.DeepCopy()
				names = append(names, string(name))
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			told = append(told, strings.Join(names, ", ")+" "+what+" for "+container)
			added += int64(len(names))
		}
	}
	fill := func(containers []corev1.Container, what string) {
		for i := range containers {
			c := &containers[i]
			add(&c.Resources.Requests, requested, "request", what+" "+c.Name)
			add(&c.Resources.Limits, limited, "limit", what+" "+c.Name)
		}
	}
	fill(pod.Spec.Containers, "container")
	fill(pod.Spec.InitContainers, "init container")
	if len(told) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(told, "; ")
	}
	return added
}

// exceeds returns an error for each bound of a range that the object of a write exceeds.
func exceeds(w plugin.Write, limits *corev1.LimitRange) error {
	var errs []error
	for i := range limits.Spec.Limits {
		item := &limits.Spec.Limits[i]
		switch obj := w.GetObject().(type) {
		case *corev1.PersistentVolumeClaim:
			if item.Type == corev1.LimitTypePersistentVolumeClaim {
				errs = append(errs, outside(item, obj.Spec.Resources.Requests, nil, requestsOnly)...)
			}
		case *corev1.Pod:
			switch item.Type {
			case corev1.LimitTypeContainer:
				for _, c := range slices.Concat(obj.Spec.Containers, obj.Spec.InitContainers) {
					errs = append(errs, outside(item, c.Resources.Requests, c.Resources.Limits, requestsAndLimits)...)
				}
			case corev1.LimitTypePod:
				// The bounds of a pod apply to its containers, without the overhead of running it.
				options := podresource.PodResourcesOptions{ExcludeOverhead: true}
				errs = append(errs,
					outside(item, podresource.PodRequests(obj, options), podresource.PodLimits(obj, options), requestsAndLimits)...)
			}
		}
	}
	return utilerrors.NewAggregate(errs)
}

// These distinguish claims, which have no limits, from containers and pods.
const (
	requestsOnly = iota
	requestsAndLimits
)

// outside returns an error for each violated bound of a range, in the order of the resources' names.
func outside(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList, has int) (errs []error) {
	check := func(bounds corev1.ResourceList, check func(name corev1.ResourceName, bound resource.Quantity) error) {
		for _, name := range slices.Sorted(maps.Keys(bounds)) {
			if err := check(name, bounds[name]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	kind := item.Type
	check(item.Min, func(name corev1.ResourceName, bound resource.Quantity) error {
		request, asked := requests[name]
		limit, limited := limits[name]
		switch {
		case !asked:
			return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, kind, bound.String())
		case request.Cmp(bound) < 0:
			return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, kind, bound.String(), request.String())
		case limited && limit.Cmp(bound) < 0:
			return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, kind, bound.String(), limit.String())
		}
		return nil
	})
	check(item.Max, func(name corev1.ResourceName, bound resource.Quantity) error {
		request, asked := requests[name]
		limit, limited := limits[name]
		switch {
		case has == requestsOnly && !asked:
			return fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, kind, bound.String())
		case has == requestsAndLimits && !limited:
			return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, kind, bound.String())
		case limited && limit.Cmp(bound) > 0:
			return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, kind, bound.String(), limit.String())
		case asked && request.Cmp(bound) > 0:
			return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, bound.String(), request.String())
		}
		return nil
	})
	if has == requestsAndLimits {
		check(item.MaxLimitRequestRatio, func(name corev1.ResourceName, bound resource.Quantity) error {
			return ratioBeyond(name, kind, bound, requests, limits)
		})
	}
	return errs
}

func ratioBeyond(name corev1.ResourceName, kind corev1.LimitType, bound resource.Quantity, requests, limits corev1.ResourceList) error {
	request, limit := requests[name], limits[name]
	if request.IsZero() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, kind,
			bound.String())
	}
	if limit.IsZero() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, kind, bound.String())
	}
	ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64()
	if ratio > bound.AsApproximateFloat64() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, kind, bound.String(), ratio)
	}
	return nil
}
