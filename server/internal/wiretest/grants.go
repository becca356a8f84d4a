package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// Grant lets a user do something with a resource, all of them if it names none. A token is called as its user is.
type Grant struct {
	User, Verb, Group, Resource, Name string
}

// Grants are those of the users in server/testdata/permissions and server/testdata/grants. Others may do nothing there,
// and administrators may do all.
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
	{User: "system:serviceaccount:default:plugin", Verb: "associated-node:update", Group: "resource.k8s.io",
		Resource: "resourceclaims/driver", Name: "gpu.example.com"},
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

// Identities are those of server/testdata/access, as lines of a file of tokens.
const Identities = `eve,eve,1
anna,anna,2,"dev"
nora,nora,3
vera,vera,4
imp,imp,5
imp2,imp2,6
esc,esc,7
bin,bin,8
wri,wri,9
node,system:node:n1,10,"system:nodes"
root,root,11,"system:masters"
`

// TokenFile has lines for --token-auth-file: the administrator's token is secret, others have their names.
func TokenFile() string {
	lines := "secret,kx-admin,1,\"system:masters\"\n" + Identities
	for _, user := range Users() {
		lines += fmt.Sprintf("%s,%s,%s\n", user, user, user)
	}
	for user, groups := range Groups {
		lines += fmt.Sprintf("%s,%s,%s,%q\n", user, user, user, strings.Join(groups, ","))
	}
	return lines
}
