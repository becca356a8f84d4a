package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	podresource "k8s.io/component-helpers/resource"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
	"github.com/kx-apiserver/kx/server/quota"
)

// quotas reads and charges the ResourceQuotas.
type quotas struct {
	plugin.Objects[*corev1.ResourceQuota]
	limits limits
}

// resourceQuota checks the objects of a namespace against its quotas, and charges them before an object is
// stored. The quota controller takes back a charge that no object uses in the end.
func resourceQuota(kit *plugin.Kit, data []byte) (plugin.Plugin, error) {
	limits, err := readLimits(data)
	q := quotas{plugin.ObjectsOf[*corev1.ResourceQuota](kit, corev1.SchemeGroupVersion.WithResource("resourcequotas")), limits}
	return plugin.Plugin{Operations: onChanges, When: mayCharge, Find: q.find}, err
}

// free lists the namespaced resources that no quota counts.
var free = []schema.GroupResource{
	{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
	{Resource: "bindings"}, {Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Resource: "namespaces"}, // the namespace of such a write is the object itself
}

// mayCharge reports whether a write can change usage.
func mayCharge(a admission.Attributes) bool {
	resource := a.GetResource().GroupResource()
	if a.GetNamespace() == "" || slices.Contains(free, resource) {
		return false
	}
	sub, creates := a.GetSubresource(), a.GetOperation() == admission.Create
	switch resource {
	case corev1.Resource("pods"):
		return sub == "" && (creates || deadlineSet(a.GetObject()) != deadlineSet(a.GetOldObject())) || sub == "resize" && !creates
	case corev1.Resource("persistentvolumeclaims"):
		return sub == "" || sub == "status"
	case corev1.Resource("services"), schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}:
		return sub == ""
	}
	return sub == "" && creates
}

// deadlineSet reports whether a pod is in the scope Terminating: a write that changes this moves it to other quotas.
func deadlineSet(obj runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// find returns the check for a namespace, nil if it has no quotas and no configuration requires one.
func (q quotas) find(ctx context.Context, a admission.Attributes) plugin.Func {
	all, err := q.Recent(ctx, a.GetNamespace())
	if err == nil && len(all) == 0 && len(q.limits) == 0 {
		return nil
	}
	return func(ctx context.Context, w plugin.Write) error {
		if err != nil {
			return err
		}
		return q.hold(ctx, w, all)
	}
}

var (
	quotasCharged = trace.Because("quotas-charged",
		"the quotas are charged before the object is written: {amounts:quote}",
		"在写入对象之前先计入配额：{amounts:quote}")
	quotasHaveRoom = trace.Because("quotas-have-room",
		"the quotas have room; a dry run charges nothing, the write itself would bring them to {amounts:quote}",
		"配额足够；试运行不计入任何用量，实际写入后将为 {amounts:quote}")
	quotasUntouched = trace.Because("quotas-untouched",
		"the write uses no more of any quota of the namespace than before",
		"此次写入没有增加对该命名空间任何配额的使用")
)

// hold checks all quotas before it charges any.
func (q quotas) hold(ctx context.Context, w plugin.Write, all []*corev1.ResourceQuota) error {
	c, err := newCharge(w)
	if err != nil {
		return err
	}
	var charged []*corev1.ResourceQuota
	for _, one := range all {
		counts, err := c.counts(one)
		if err != nil {
			return err
		}
		if counts {
			charged = append(charged, one)
		}
	}
	if err := c.negative(); err != nil {
		return err
	}
	if err := q.limits.hold(c, all, charged); err != nil {
		return err
	}
	var charges []string // as the step shows them
	note := func(text string) {
		if text != "" {
			charges = append(charges, text)
		}
	}
	for _, one := range charged {
		more, err := c.addition(one)
		if err != nil {
			return err
		}
		if w.IsDryRun() {
			note(formatUsage(one, more))
		}
	}
	if !w.IsDryRun() {
		for _, one := range charged {
			text, err := q.charge(ctx, c, one)
			if err != nil {
				return err
			}
			note(text)
		}
	}
	switch {
	case len(charges) == 0:
		w.Step.Why(quotasUntouched)
	case w.IsDryRun():
		w.Step.WhyText(quotasHaveRoom, trace.ListOf(charges).Join("; "))
	default:
		w.Step.WhyText(quotasCharged, trace.ListOf(charges).Join("; "))
	}
	return nil
}

// charge adds the write to the usage of a quota, if the quota's current state has room for it. The text describes the
// usage after that; it is empty if nothing was added.
func (q quotas) charge(ctx context.Context, c *charge, one *corev1.ResourceQuota) (text string, err error) {
	err = q.UpdateStatus(ctx, one.Namespace, one.Name, func(now *corev1.ResourceQuota) (bool, error) {
		text = ""
		if counts, err := c.counts(now); err != nil || !counts {
			return false, err
		}
		more, err := c.addition(now)
		if err != nil || len(more) == 0 {
			return false, err
		}
		text = formatUsage(now, more)
		for name, amount := range more {
			used := now.Status.Used[name]
			used.Add(amount)
			now.Status.Used[name] = used
		}
		return true, nil
	})
	return text, err
}

// charge is the usage of a write that quotas are charged with.
type charge struct {
	w        plugin.Write
	resource schema.GroupResource
	usage    *quota.Usage
	// old is the usage before the write, nil for new objects.
	old *quota.Usage
}

// newCharge measures a write. If the old object has no resourceVersion, the update creates the object.
func newCharge(w plugin.Write) (c *charge, err error) {
	c = &charge{w: w, resource: w.GetResource().GroupResource()}
	if c.usage, err = c.measure(w.GetObject()); err != nil {
		return nil, err
	}
	if w.GetOperation() != admission.Update {
		return c, nil
	}
	if w.GetOldObject() == nil {
		return nil, w.Refusal("unable to get previous usage since prior version of object was not found")
	}
	if old, err := meta.Accessor(w.GetOldObject()); err == nil && old.GetResourceVersion() != "" {
		c.old, err = c.measure(w.GetOldObject())
		return c, err
	}
	return c, nil
}

// measure returns the usage of an object at this moment.
func (c *charge) measure(obj runtime.Object) (*quota.Usage, error) {
	u, err := quota.Measure(c.resource, obj)
	if err == nil && !u.Until.IsZero() && !time.Now().Before(u.Until) {
		u = u.AfterUntil()
	}
	return u, err
}

// counts reports whether a quota counts the object. It refuses an object that does not specify what the quota counts,
// and every object as long as the usage of the quota is not known.
func (c *charge) counts(q *corev1.ResourceQuota) (bool, error) {
	names := quota.Names(c.resource, q.Status.Hard)
	if len(names) == 0 || !quota.Matches(&q.Spec, c.usage) {
		return false, nil
	}
	if pod, ok := c.w.GetObject().(*corev1.Pod); ok {
		if missing := unspecified(pod, names); missing != "" {
			return false, c.w.Refusal("failed quota: %s: must specify %s", q.Name, missing)
		}
	}
	for _, name := range names {
		if _, ok := q.Status.Used[name]; !ok {
			return false, c.w.Refusal("status unknown for quota: %s, resources: %s", q.Name, joinNames(names))
		}
	}
	return true, nil
}

// addition returns what the write adds to the usage of a quota, and refuses it if the quota has no room.
func (c *charge) addition(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	more, over := corev1.ResourceList{}, []corev1.ResourceName{}
	for name, amount := range c.increase(q) {
		hard, limited := q.Status.Hard[name]
		if !limited {
			continue
		}
		more[name] = amount
		sum := q.Status.Used[name].DeepCopy()
		if sum.Add(amount); sum.Cmp(hard) > 0 {
			over = append(over, name)
		}
	}
	// A status reports what has already happened, so it is never refused.
	if len(over) > 0 && c.w.GetSubresource() != "status" {
		amounts := func(of corev1.ResourceList) string {
			return joinTexts(over, func(n corev1.ResourceName) string { return amountOf(n, of) })
		}
		return nil, c.w.Refusal("exceeded quota: %s, requested: %s, used: %s, limited: %s",
			q.Name, amounts(more), amounts(q.Status.Used), amounts(q.Status.Hard))
	}
	return more, nil
}

// negative refuses amounts below zero.
func (c *charge) negative() error {
	var below []corev1.ResourceName
	for name, amount := range c.usage.Amounts {
		if amount.Sign() < 0 {
			below = append(below, name)
		}
	}
	if len(below) == 0 {
		return nil
	}
	return c.w.Refusal("quota usage is negative for resource(s): %s", joinNames(below))
}

// adds reports whether the write can change the usage of these quotas. Without quotas, it reports whether the
// object uses more than before.
func (c *charge) adds(charged []*corev1.ResourceQuota) bool {
	if len(charged) == 0 {
		return len(c.usageBeyond(c.old)) > 0
	}
	return slices.ContainsFunc(charged, func(q *corev1.ResourceQuota) bool { return len(c.increase(q)) > 0 })
}

// increase returns the increase of the object's usage. An object that the quota has not counted before counts as a
// new one.
func (c *charge) increase(q *corev1.ResourceQuota) corev1.ResourceList {
	if c.old != nil && quota.Matches(&q.Spec, c.old) {
		return c.usageBeyond(c.old)
	}
	return c.usageBeyond(nil)
}

// usageBeyond returns what the object uses beyond old, or all that it uses if old is nil.
func (c *charge) usageBeyond(old *quota.Usage) corev1.ResourceList {
	before := corev1.ResourceList{}
	if old != nil {
		before = old.Amounts
	}
	added := corev1.ResourceList{}
	for name, amount := range c.usage.Amounts {
		amount = amount.DeepCopy()
		amount.Sub(before[name])
		if amount.Sign() > 0 {
			added[name] = amount
		}
	}
	return added
}

// formatUsage describes the usage of a quota after the write.
func formatUsage(q *corev1.ResourceQuota, more corev1.ResourceList) string {
	if len(more) == 0 {
		return ""
	}
	return q.Name + ": " + strings.Join(each(podspec.ResourceNames(more), func(n corev1.ResourceName) string {
		used, hard := q.Status.Used[n].DeepCopy(), q.Status.Hard[n]
		used.Add(more[n])
		return fmt.Sprintf("%s %s of %s", n, used.String(), hard.String())
	}), ", ")
}

func amountOf(name corev1.ResourceName, of corev1.ResourceList) string {
	quantity := of[name]
	return string(name) + "=" + quantity.String()
}

func each(names []corev1.ResourceName, text func(corev1.ResourceName) string) (texts []string) {
	for _, name := range names {
		texts = append(texts, text(name))
	}
	return texts
}

// joinTexts joins the texts in the order of the names.
func joinTexts(names []corev1.ResourceName, text func(corev1.ResourceName) string) string {
	slices.Sort(names)
	return strings.Join(each(names, text), ",")
}

// joinNames joins the names in order.
func joinNames(names []corev1.ResourceName) string {
	return joinTexts(names, func(n corev1.ResourceName) string { return string(n) })
}

// unspecified lists the counted amounts that containers don't specify, and these containers. Only CPU and memory
// have to be specified, and only if the pod has no resources as a whole.
func unspecified(pod *corev1.Pod, counted []corev1.ResourceName) string {
	if podresource.IsPodLevelResourcesSet(pod) {
		return ""
	}
	missing := map[string]map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, name := range counted {
			var there bool
			switch name {
			case corev1.ResourceCPU, corev1.ResourceRequestsCPU:
				_, there = c.Resources.Requests[corev1.ResourceCPU]
			case corev1.ResourceMemory, corev1.ResourceRequestsMemory:
				_, there = c.Resources.Requests[corev1.ResourceMemory]
			case corev1.ResourceLimitsCPU:
				_, there = c.Resources.Limits[corev1.ResourceCPU]
			case corev1.ResourceLimitsMemory:
				_, there = c.Resources.Limits[corev1.ResourceMemory]
			default:
				there = true
			}
			if there {
				continue
			}
			if missing[string(name)] == nil {
				missing[string(name)] = map[string]bool{}
			}
			missing[string(name)][c.Name] = true
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		parts = append(parts, name+" for: "+strings.Join(slices.Sorted(maps.Keys(missing[name])), ","))
	}
	return strings.Join(parts, "; ")
}
