package v1alpha1

// Attribute returns the step's attribute of that name; empty without one.
func (s *Step) Attribute(name string) string { return findAttribute(s.Attributes, name) }

// Value returns a reason's value of that name; empty without one. A nil Reason has none.
func (r *Reason) Value(name string) string {
	if r == nil {
		return ""
	}
	return findAttribute(r.Values, name)
}

func findAttribute(all []Attribute, name string) string {
	for i := range all {
		if all[i].Name == name {
			return all[i].Value
		}
	}
	return ""
}
