package rbac

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// editor makes the next index from the current one. It copies only the parts that change.
type editor struct {
	next index
	// bindings holds the bindings of the next index.
	bindings map[id]*binding
	// roles is true if the roles have been copied. users and groups hold the names of the copied ones.
	roles         bool
	users, groups map[string]bool
}

func (e *editor) apply(c *Change) {
	key := id{c.Namespace, c.Name}
	if c.Kind == ClusterRole || c.Kind == Role {
		e.setRole(key, c)
		return
	}
	if old := e.bindings[key]; old != nil {
		e.remove(old)
	}
	if c.Gone {
		return
	}
	b := &binding{id: key, to: c.To, subjects: c.Subjects}
	e.bindings[key] = b
	if c.Damaged {
		e.next.damaged = append(slices.Clone(e.next.damaged), b)
		return
	}
	e.each(b, func(bindings []*binding) []*binding {
		at, found := slices.BinarySearchFunc(bindings, b, byName)
		if found {
			return bindings // the binding names this subject twice
		}
		return slices.Insert(slices.Clone(bindings), at, b)
	})
}

func byName(a, b *binding) int { return cmp.Compare(a.name, b.name) }

func (e *editor) setRole(key id, c *Change) {
	if !e.roles {
		e.next.roles, e.roles = maps.Clone(e.next.roles), true
	}
	switch {
	case c.Gone:
		delete(e.next.roles, key)
	case c.Damaged:
		e.next.roles[key] = &role{damaged: true}
	default:
		e.next.roles[key] = compile(c.Rules)
	}
}

func (e *editor) remove(b *binding) {
	delete(e.bindings, b.id)
	is := func(other *binding) bool { return other == b }
	e.next.damaged = slices.DeleteFunc(slices.Clone(e.next.damaged), is)
	e.each(b, func(bindings []*binding) []*binding { return slices.DeleteFunc(slices.Clone(bindings), is) })
}

// each calls change for the bindings of each subject of a binding, in the binding's namespace.
func (e *editor) each(b *binding, change func([]*binding) []*binding) {
	for i := range b.subjects {
		s := &b.subjects[i]
		if s.Kind == rbacv1.GroupKind {
			edit(&e.next.groups, &e.groups, s.Name, b.namespace, change)
		} else if name, ok := userOf(s, b.namespace); ok {
			edit(&e.next.users, &e.users, name, b.namespace, change)
		}
	}
}

// edit changes the bindings of a subject in a namespace. First it copies the map and the subject, unless they have been
// copied already.
func edit(all *map[string]subject, copied *map[string]bool, name, namespace string, change func([]*binding) []*binding) {
	if *copied == nil {
		*all, *copied = maps.Clone(*all), map[string]bool{}
	}
	of := (*all)[name]
	if !(*copied)[name] {
		of = maps.Clone(of)
		if of == nil {
			of = subject{}
		}
		(*all)[name], (*copied)[name] = of, true
	}
	if of[namespace] = change(of[namespace]); len(of[namespace]) > 0 {
		return
	}
	if delete(of, namespace); len(of) == 0 {
		delete(*all, name)
		delete(*copied, name)
	}
}
