package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

func (in *Journey) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Journey) DeepCopy() *Journey {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Sentences = slices.Clone(in.Status.Sentences)
	out.Status.Marks = slices.Clone(in.Status.Marks)
	out.Status.Deliveries = slices.Clone(in.Status.Deliveries)
	out.Status.Effects = slices.Clone(in.Status.Effects)
	out.Status.Cause = copyOf(in.Status.Cause)
	out.Status.Touched = slices.Clone(in.Status.Touched)
	out.Status.Interventions = slices.Clone(in.Status.Interventions)
	out.Status.Held = slices.Clone(in.Status.Held)
	for i := range out.Status.Held {
		out.Status.Held[i].Actions = slices.Clone(in.Status.Held[i].Actions)
	}
	out.Status.Steps = slices.Clone(in.Status.Steps)
	for i := range out.Status.Steps {
		s := &out.Status.Steps[i]
		s.Attributes = slices.Clone(s.Attributes)
		s.Before, s.After = s.Before.DeepCopy(), s.After.DeepCopy()
		if s.Reason = copyOf(s.Reason); s.Reason != nil {
			s.Reason.Values = slices.Clone(s.Reason.Values)
		}
	}
	return &out
}

func (in *JourneyList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *JourneyList) DeepCopy() *JourneyList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Journey).DeepCopy)
	}
	return out
}

func (in *Cache) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Cache) DeepCopy() *Cache {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.CaughtUpMicros = copyOf(in.Status.CaughtUpMicros)
	out.Status.History.Oldest = copyOf(in.Status.History.Oldest)
	out.Status.Watchers = slices.Clone(in.Status.Watchers)
	for i := range out.Status.Watchers {
		w := &out.Status.Watchers[i]
		w.LastBookmarkTime = copyOf(w.LastBookmarkTime)
	}
	return &out
}

func copyOf[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// copyItems copies the items of a list, one by one.
func copyItems[T any](in []T, deepCopy func(*T) *T) []T {
	var out []T
	for i := range in {
		out = append(out, *deepCopy(&in[i]))
	}
	return out
}

func (in *CacheList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *CacheList) DeepCopy() *CacheList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Cache).DeepCopy)
	}
	return out
}

func (in *CacheCheck) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *CacheCheck) DeepCopy() *CacheCheck {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Differences = slices.Clone(in.Status.Differences)
	return &out
}

func (in *CachedObject) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *CachedObject) DeepCopy() *CachedObject {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Cached, out.Status.Etcd = in.Status.Cached.deepCopy(), in.Status.Etcd.deepCopy()
	return &out
}

func (in *ObjectState) deepCopy() *ObjectState {
	out := copyOf(in)
	if out != nil {
		out.Object = in.Object.DeepCopy()
	}
	return out
}
