package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

func (in *Structure) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Structure) DeepCopy() *Structure {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Filter = copyOf(in.Spec.Filter)
	if out.Spec.Server = copyOf(in.Spec.Server); out.Spec.Server != nil {
		out.Spec.Server.GroupVersions = slices.Clone(in.Spec.Server.GroupVersions)
	}
	out.Spec.Resource, out.Spec.Definition = in.Spec.Resource.deepCopy(), in.Spec.Definition.deepCopy()
	out.Spec.Controller = copyOf(in.Spec.Controller)
	return &out
}

func (in *StructureResource) deepCopy() *StructureResource {
	out := copyOf(in)
	if out == nil {
		return nil
	}
	out.ShortNames, out.Categories = slices.Clone(in.ShortNames), slices.Clone(in.Categories)
	out.Verbs, out.Subresources = slices.Clone(in.Verbs), slices.Clone(in.Subresources)
	out.Cache = copyOf(in.Cache)
	out.Storages = slices.Clone(in.Storages)
	for i := range out.Storages {
		s := &out.Storages[i]
		s.Strategies, s.Absent, s.Routes = slices.Clone(s.Strategies), slices.Clone(s.Absent), slices.Clone(s.Routes)
		for k := range s.Routes {
			s.Routes[k].Calls = copyOf(s.Routes[k].Calls)
		}
	}
	return out
}

func (in *StructureDefinition) deepCopy() *StructureDefinition {
	out := copyOf(in)
	if out == nil {
		return nil
	}
	out.Versions, out.StoredVersions = slices.Clone(in.Versions), slices.Clone(in.StoredVersions)
	out.Conditions = slices.Clone(in.Conditions)
	if out.Serving = copyOf(in.Serving); out.Serving != nil {
		out.Serving.Versions = slices.Clone(in.Serving.Versions)
	}
	return out
}

func (in *StructureList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *StructureList) DeepCopy() *StructureList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Structure).DeepCopy)
	}
	return out
}
