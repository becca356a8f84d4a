package impersonation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	accounts "k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

const authenticationGroup = authenticationv1.GroupName

// mode is one form of impersonation.
type mode struct {
	// name is empty for the old form.
	name string
	// fits reports whether the mode is for such a user. It is checked before the authorizer is called.
	fits func(wanted *user.DefaultInfo, asker user.Info) bool
}

var (
	associatedNode = &mode{"associated-node", func(wanted *user.DefaultInfo, asker user.Info) bool {
		node, ok := nodeOf(wanted.Name)
		if _, _, err := accounts.SplitUsername(asker.GetName()); err != nil || !ok || !isNameAlone(wanted) {
			return false
		}
		of := asker.GetExtra()[accounts.NodeNameKey]
		return len(of) == 1 && of[0] == node
	}}
	arbitraryNode = &mode{"arbitrary-node", func(wanted *user.DefaultInfo, _ user.Info) bool {
		_, ok := nodeOf(wanted.Name)
		return ok && isNameAlone(wanted)
	}}
	serviceAccount = &mode{"serviceaccount", func(wanted *user.DefaultInfo, _ user.Info) bool {
		_, _, err := accounts.SplitUsername(wanted.Name)
		return err == nil && isNameAlone(wanted)
	}}
	userInfo = &mode{"user-info", func(wanted *user.DefaultInfo, _ user.Info) bool {
		_, isNode := nodeOf(wanted.Name)
		_, _, err := accounts.SplitUsername(wanted.Name)
		return !isNode && err != nil
	}}
	old = &mode{"", func(*user.DefaultInfo, user.Info) bool { return true }}

	// modes has the order in which they are tried.
	modes = []*mode{associatedNode, arbitraryNode, serviceAccount, userInfo, old}
)

func (m *mode) constrained() bool { return m.name != "" }

// verb returns the verb that must be allowed on each part of the impersonated user.
func (m *mode) verb() string {
	if m.constrained() {
		return "impersonate:" + m.name
	}
	return Verb
}

// namesGroup returns the API group of users and groups. The old form uses the core group, although it has no such
// resources.
func (m *mode) namesGroup() string {
	if m.constrained() {
		return authenticationGroup
	}
	return ""
}

// isNameAlone reports whether the headers have only a name: the rest of nodes and service accounts follows from it.
func isNameAlone(wanted *user.DefaultInfo) bool {
	return wanted.UID == "" && len(wanted.Groups) == 0 && len(wanted.Extra) == 0
}

// nodeOf returns the node whose kubelet has the name.
func nodeOf(name string) (node string, ok bool) {
	node, ok = strings.CutPrefix(name, "system:node:")
	return node, ok && len(validation.NameIsDNSSubdomain(node, false)) == 0
}

// username authorizes the name, and fills in the groups that follow from it.
func (a *attempt) username(ctx context.Context, who *user.DefaultInfo) error {
	asked := a.attributes(a.namesGroup(), "users", who.Name)
	if node, ok := nodeOf(who.Name); ok && a.constrained() {
		asked.Resource, asked.Name = "nodes", node
		who.Groups = []string{user.NodesGroup}
	}
	if namespace, name, err := accounts.SplitUsername(who.Name); err == nil {
		asked.Resource, asked.Namespace, asked.Name = "serviceaccounts", namespace, name
		if len(who.Groups) == 0 {
			who.Groups = accounts.MakeGroupNames(namespace)
		}
	}
	return a.ask(ctx, asked)
}

// many is the number of values from which on the constrained form first authorizes all of them at once.
const many = 4

func (a *attempt) groups(ctx context.Context, groups []string) error {
	asked := a.attributes(a.namesGroup(), "groups", "")
	if a.constrained() {
		if slices.Contains(groups, "") {
			return responsewriters.ForbiddenStatusError(asked, "impersonating the empty string group is not allowed")
		}
		if slices.Contains(groups, user.SystemPrivilegedGroup) {
			asked.Name = user.SystemPrivilegedGroup
			return responsewriters.ForbiddenStatusError(asked, "impersonating the system:masters group is not allowed")
		}
		if len(groups) >= many {
			asked.Name = "*"
			if a.ask(ctx, asked) == nil {
				return nil
			}
		}
	}
	for _, asked.Name = range groups {
		if err := a.ask(ctx, asked); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) extra(ctx context.Context, extra map[string][]string) error {
	asked := a.attributes(authenticationGroup, "userextras", "")
	if a.constrained() {
		if err := validateExtra(extra); err != nil {
			return responsewriters.ForbiddenStatusError(asked, err.Error())
		}
		if isLarge(extra) {
			asked.Subresource, asked.Name = "*", "*"
			if a.ask(ctx, asked) == nil {
				return nil
			}
		}
	}
	for key, values := range extra {
		asked.Subresource = key
		for _, asked.Name = range values {
			if err := a.ask(ctx, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateExtra checks the extra values by the rules of the constrained form.
func validateExtra(extra map[string][]string) error {
	for key, values := range extra {
		switch err := utilvalidation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate(); {
		case key == "":
			return errors.New("impersonating the empty string key in extra is not allowed")
		case err != nil:
			return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", err)
		case key != strings.ToLower(key):
			return fmt.Errorf("impersonating a non-lowercase key in extra is not allowed: %q", key)
		case slices.Contains(values, ""):
			return errors.New("impersonating the empty string value in extra is not allowed")
		}
	}
	return nil
}

func isLarge(extra map[string][]string) bool {
	values := 0
	for _, v := range extra {
		values += len(v)
	}
	return len(extra) >= many || values >= many
}
