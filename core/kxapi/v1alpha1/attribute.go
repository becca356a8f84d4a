package v1alpha1

// Attribute returns the step's attribute of that name; empty without one.
func (s *Step) Attribute(name string) string { return named(s.Attributes, name) }

// Value returns a reason's value of that name; empty without one. A nil Reason has none.
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
