package v1alpha1

// Attribute is what a step says under a name; empty if it says nothing.
func (s *Step) Attribute(name string) string { return named(s.Attributes, name) }

// Value is what a reason has under a name; empty if it has nothing. A nil Reason has nothing.
func (r *Reason) Value(name string) string {
	if r == nil {
		return ""
	}
	return named(r.Values, name)
}

func named(all []Attribute, name string) string {
	for i := range all {
		if all[i].Name == name {
			return all[i].Value
		}
	}
	return ""
}
