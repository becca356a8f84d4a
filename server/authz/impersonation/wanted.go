package impersonation

import (
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/server/authn"
)

// headerPrefix begins all headers of impersonation.
const headerPrefix = "Impersonate-"

// TakeUser reads the user that a request impersonates, nil if there is none. It removes the headers, so that no handler
// relies on them. Invalid headers stay, since the request is refused then.
func TakeUser(h http.Header) (*user.DefaultInfo, error) {
	wanted := &user.DefaultInfo{
		Name: h.Get(authenticationv1.ImpersonateUserHeader), UID: h.Get(authenticationv1.ImpersonateUIDHeader),
	}
	wanted.Groups = append(wanted.Groups, h[authenticationv1.ImpersonateGroupHeader]...)
	hasExtra := false
	for name, values := range h {
		key, ok := authn.CutExtraKey(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		hasExtra = true
		if len(values) == 0 {
			continue
		}
		if wanted.Extra == nil {
			wanted.Extra = map[string][]string{}
		}
		wanted.Extra[key] = append(wanted.Extra[key], values...)
	}
	if wanted.Name == "" && (wanted.UID != "" || len(wanted.Groups) > 0 || hasExtra) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %#v without impersonating a user name", wanted))
	}
	for name := range h {
		if strings.HasPrefix(name, headerPrefix) {
			h.Del(name)
		}
	}
	if wanted.Name == "" {
		return nil, nil
	}
	return wanted, nil
}
