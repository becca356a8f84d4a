package fuzztest

import "strings"

// Resource is a resource of the server, as its discovery has it.
type Resource struct {
	Group, Version, Kind string
	Name                 string // with the subresource: deployments/scale
	Namespaced           bool
}

// APIVersion is the group and version as an object names them.
func (r Resource) APIVersion() string { return join(r.Group, r.Version) }

func (r Resource) root() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

func (r Resource) parts() (plural, sub string) {
	plural, sub, _ = strings.Cut(r.Name, "/")
	return plural, sub
}

func join(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// Identity is whom the server should believe the sender of a request to be. It is empty for one whose credentials are
// not valid.
type Identity struct {
	Name   string
	Groups []string
}

// User is a sender of requests: its credentials and its identity.
type User struct {
	Name, Token string
	Identity    Identity
}

// Surface is what a generator knows of the server. It must not change from one sequence to the next.
type Surface struct {
	// Resources are all of the server, subresources too, in an order that never changes.
	Resources []Resource
	// Schema returns the OpenAPI v3 schemas of a group and version by name, or nil.
	Schema func(group, version string) map[string]any
	// Users: an administrator first, whose client sends a certificate and no token.
	Users []User
	// Namespaces and Names are those of the objects that are there before each sequence.
	Namespaces, Names []string

	tables map[string]any // by name: the productions of the grammar
}
