package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// DeepCopyObject implements runtime.Object.
func (in *Source) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy is a copy that shares nothing with in.
func (in *Source) DeepCopy() *Source {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (in *SourceList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy is a copy that shares nothing with in.
func (in *SourceList) DeepCopy() *SourceList {
	if in == nil {
		return nil
	}
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopy())
	}
	return &out
}
