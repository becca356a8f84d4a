package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

func (in *Key) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Key) DeepCopy() *Key {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Status.Value != nil {
		value := *in.Status.Value
		value.Object = value.Object.DeepCopy()
		value.Raw = slices.Clone(value.Raw)
		out.Status.Value = &value
	}
	return &out
}

func (in *KeyList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *KeyList) DeepCopy() *KeyList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Key).DeepCopy)
	}
	return out
}

func (in *KeyHistory) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *KeyHistory) DeepCopy() *KeyHistory {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Revisions = slices.Clone(in.Status.Revisions)
	for i := range out.Status.Revisions {
		r := &out.Status.Revisions[i]
		r.Time = copyOf(r.Time)
		r.Authors = slices.Clone(r.Authors)
		for j := range r.Authors {
			r.Authors[j].Time = copyOf(r.Authors[j].Time)
		}
	}
	return &out
}
