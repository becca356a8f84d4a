package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

func (in *Breakpoint) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Breakpoint) DeepCopy() *Breakpoint {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		out.Status.LastHit = copyOf(in.Status.LastHit)
	}
	return out
}

func (in *BreakpointList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *BreakpointList) DeepCopy() *BreakpointList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Breakpoint).DeepCopy)
	}
	return out
}

func (in *Fault) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Fault) DeepCopy() *Fault {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		out.Spec.Delay, out.Spec.Probability = copyOf(in.Spec.Delay), copyOf(in.Spec.Probability)
		out.Status.LastHit = copyOf(in.Status.LastHit)
	}
	return out
}

func (in *FaultList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *FaultList) DeepCopy() *FaultList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Fault).DeepCopy)
	}
	return out
}

func (in *JourneyCommand) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *JourneyCommand) DeepCopy() *JourneyCommand {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		out.Spec.Step, out.Spec.Delay = copyOf(in.Spec.Step), copyOf(in.Spec.Delay)
		out.Spec.Patch = in.Spec.Patch.DeepCopy()
	}
	return out
}

func (in *Compaction) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Compaction) DeepCopy() *Compaction {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	}
	return out
}
