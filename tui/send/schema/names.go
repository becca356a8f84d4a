package schema

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// nameRules lists the kinds with rules for names that differ from the usual one.
var nameRules = map[string]func(string) []string{
	"Namespace": validation.IsDNS1123Label,
	"Service":   validation.IsDNS1035Label,
}

// NameProblem describes the mistake in the name of an object of a kind, or returns nothing.
func NameProblem(kind, name string) string {
	rule := nameRules[kind]
	if rule == nil {
		rule = validation.IsDNS1123Subdomain
	}
	if wrong := rule(name); len(wrong) > 0 {
		return wrong[0]
	}
	return ""
}

// find returns the value of a field, or nil.
func find(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// head checks the object's apiVersion and kind against those of the request.
func (c *checker) head(n *yaml.Node) {
	for _, f := range []struct{ name, want string }{{"apiVersion", c.of.Kind.APIVersion()}, {"kind", c.of.Kind.Kind}} {
		value := find(n, f.name)
		switch {
		case value == nil:
			c.say(n, f.name, "it is required")
		case f.want != "" && value.Value != f.want:
			c.say(value, f.name, "the request is about %s, not %s", f.want, value.Value)
		}
	}
}

// metadata checks names and labels.
func (c *checker) metadata(n *yaml.Node) {
	m := find(n, "metadata")
	name, generate := find(m, "name"), find(m, "generateName")
	of := c.of
	asked := of.Patch == "" && !nameless[of.Kind.Group] && c.d.Has(of.Kind) // patches and objects that are not stored may have no name
	switch {
	case name == nil && generate == nil && asked && of.Name == "":
		at := m
		if at == nil {
			at = n
		}
		c.say(at, "metadata.name", "it is required, or generateName is")
	case name == nil || name.Kind != yaml.ScalarNode:
	case of.Name != "" && name.Value != of.Name:
		c.say(name, "metadata.name", "the request is about %s, not %s", of.Name, name.Value)
	case of.Kind.Kind != "":
		if wrong := NameProblem(of.Kind.Kind, name.Value); wrong != "" {
			c.say(name, "metadata.name", "%s", wrong)
		}
	}
	if ns := find(m, "namespace"); ns != nil && of.Namespace != "" && ns.Value != of.Namespace {
		c.say(ns, "metadata.namespace", "the request is about %s, not %s", of.Namespace, ns.Value)
	}
	labels := find(m, "labels")
	if labels == nil || labels.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(labels.Content); i += 2 {
		key, value := labels.Content[i], labels.Content[i+1]
		if wrong := validation.IsQualifiedName(key.Value); len(wrong) > 0 {
			c.say(key, "metadata.labels", "%s: %s", key.Value, strings.Join(wrong, "; "))
		}
		if wrong := validation.IsValidLabelValue(value.Value); value.Kind == yaml.ScalarNode && len(wrong) > 0 {
			c.say(value, "metadata.labels."+key.Value, "%s", strings.Join(wrong, "; "))
		}
	}
}
