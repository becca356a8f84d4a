package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// classes reads the PriorityClasses.
type classes struct {
	plugin.Objects[*schedulingv1.PriorityClass]
}

// priority gives a pod the priority of its class. It also refuses a second default class.
func priority(kit *plugin.Kit) plugin.Plugin {
	c := classes{plugin.ObjectsOf[*schedulingv1.PriorityClass](kit, schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"))}
	return plugin.Plugin{
		Operations: onChanges,
		About:      append(plugin.Resources("", "pods"), plugin.Resources(schedulingv1.GroupName, "priorityclasses")...),
		Admit: func(ctx context.Context, w plugin.Write) error {
			switch {
			case w.GetResource().Resource != "pods":
				return nil
			case w.GetOperation() == admission.Update:
				return keepPriority(ctx, w)
			}
			return plugin.WithObject(c.setPriority)(ctx, w)
		},
		Validate: func(ctx context.Context, w plugin.Write) error {
			if w.GetResource().Resource != "priorityclasses" {
				return nil
			}
			return plugin.WithObject(c.checkDefault)(ctx, w)
		},
	}
}

var priorityKept = trace.Because("priority-kept",
	"the client left the priority out: it stays",
	"客户端没有写优先级，保留原值")

// keepPriority keeps the fields that an update leaves out, for clients that don't know them.
var keepPriority = plugin.WithOld(func(_ context.Context, w plugin.Write, pod, old *corev1.Pod) error {
	kept := false
	if pod.Spec.Priority == nil && old.Spec.Priority != nil {
		pod.Spec.Priority, kept = old.Spec.Priority, true
	}
	if pod.Spec.PreemptionPolicy == nil && old.Spec.PreemptionPolicy != nil {
		pod.Spec.PreemptionPolicy, kept = old.Spec.PreemptionPolicy, true
	}
	if kept {
		w.Step.Why(priorityKept)
	} else {
		w.Step.Why(pluginLeft)
	}
	return nil
})

var (
	priorityOfClass = trace.Because("priority-of-class",
		"the pod's class is {class:quote}: priority {priority}",
		"Pod 的优先级类是 {class:quote}：优先级 {priority}")
	priorityOfNoClass = trace.Because("priority-of-no-class",
		"the pod names no class and none is the default: priority {priority}",
		"Pod 没有指定优先级类，也没有默认类：优先级 {priority}")
)

// setPriority resolves the class of a new pod. A client may state the values of the class, but no others.
func (c classes) setPriority(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
	class, err := c.find(ctx, w, pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	if given := pod.Spec.Priority; given != nil && *given != class.Value {
		return w.Refusal(
			"the integer value of priority (%d) must not be provided in pod spec; "+
				"priority admission controller computed %d from the given PriorityClass name",
			*given, class.Value)
	}
	pod.Spec.PriorityClassName, pod.Spec.Priority = class.Name, &class.Value
	if policy := class.PreemptionPolicy; policy != nil {
		if given := pod.Spec.PreemptionPolicy; given != nil && *given != *policy {
			return w.Refusal(
				"the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
					"priority admission controller computed %s from the given PriorityClass name",
				*given, *policy)
		}
		pod.Spec.PreemptionPolicy = policy
	}
	if class.Name == "" {
		w.Step.Why(priorityOfNoClass, int64(class.Value))
	} else {
		w.Step.WhyText(priorityOfClass, class.Name, int64(class.Value))
	}
	return nil
}

// find returns a copy of a class, because the pod keeps pointers into it. Without a name it is the default class, or a
// nameless one if no class is the default.
func (c classes) find(ctx context.Context, w plugin.Write, name string) (*schedulingv1.PriorityClass, error) {
	if name == "" {
		class, err := c.defaultClass(ctx)
		if err != nil {
			return nil, fmt.Errorf("error occurred while retrieving default priority class: %w", err)
		}
		if class == nil {
			policy := corev1.PreemptLowerPriority
			return &schedulingv1.PriorityClass{PreemptionPolicy: &policy}, nil
		}
		return class.DeepCopy(), nil
	}
	class, found, err := c.Get(ctx, "", name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to resolve PriorityClass with name %s: %w", name, err)
	case !found:
		return nil, w.Refusal("no PriorityClass with name %v was found", name)
	}
	return class.DeepCopy(), nil
}

// defaultClass returns the lowest class that is marked as default, or nil. Two concurrent creates
// can leave several.
func (c classes) defaultClass(ctx context.Context) (lowest *schedulingv1.PriorityClass, err error) {
	all, err := c.List(ctx, "")
	for _, class := range all {
		if class.GlobalDefault && (lowest == nil || class.Value < lowest.Value) {
			lowest = class
		}
	}
	return lowest, err
}

var onlyDefault = trace.Because("only-default", "no other class is the default", "没有其他默认类")

// checkDefault refuses a default class while another class is the default.
func (c classes) checkDefault(ctx context.Context, w plugin.Write, class *schedulingv1.PriorityClass) error {
	if !class.GlobalDefault {
		w.Step.Why(pluginLeft)
		return nil
	}
	other, err := c.defaultClass(ctx)
	if err != nil {
		return fmt.Errorf("failed to get default priority class: %w", err)
	}
	if other != nil && (w.GetOperation() == admission.Create || other.Name != class.Name) {
		return w.Refusal("PriorityClass %v is already marked as default. Only one default can exist", other.Name)
	}
	w.Step.Why(onlyDefault)
	return nil
}
