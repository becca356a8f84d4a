package wiretest

import "slices"

// Grant lets a user do something with a resource, all of them if it names none. A token is called as its user is.
type Grant struct {
	User, Verb, Group, Resource, Name string
}

// Grants are those of the users in server/testdata/permissions and server/testdata/grants. Others may do nothing there, and administrators may do all.
var Grants = []Grant{
	{User: "boss", Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles"},
	{User: "boss", Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	{User: "binder", Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "secrets-reader"},
	{User: "writer", Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims/status"},
	{User: "scheduler", Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims/status"},
	{User: "scheduler", Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims/binding"},
	{User: "driver", Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims/status"},
	{User: "driver", Verb: "arbitrary-node:update", Group: "resource.k8s.io", Resource: "resourceclaims/driver", Name: "gpu.example.com"},
	{User: "system:serviceaccount:default:plugin", Verb: "update", Group: "resource.k8s.io", Resource: "resourceclaims/status"},
	{User: "system:serviceaccount:default:plugin", Verb: "associated-node:update", Group: "resource.k8s.io", Resource: "resourceclaims/driver", Name: "gpu.example.com"},
	{User: "writer", Verb: "update", Group: "certificates.k8s.io", Resource: "podcertificaterequests/status"},
	{User: "signer", Verb: "update", Group: "certificates.k8s.io", Resource: "podcertificaterequests/status"},
	{User: "signer", Verb: "sign", Group: "certificates.k8s.io", Resource: "signers", Name: "example.com/signer"},
	{User: "domain", Verb: "update", Group: "certificates.k8s.io", Resource: "podcertificaterequests/status"},
	{User: "domain", Verb: "sign", Group: "certificates.k8s.io", Resource: "signers", Name: "example.com/*"},
}

// Granted says whether the user has a grant for what is asked.
func Granted(asked Grant) bool {
	all := asked
	all.Name = ""
	return slices.Contains(Grants, asked) || slices.Contains(Grants, all)
}

// Users are those who have grants.
func Users() []string {
	var users []string
	for _, g := range Grants {
		if !slices.Contains(users, g.User) {
			users = append(users, g.User)
		}
	}
	return users
}

// Groups are those of the users in server/testdata/grants.
var Groups = map[string][]string{"ann": {"dev", "ops"}}
