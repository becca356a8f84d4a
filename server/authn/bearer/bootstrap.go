package bearer

import (
	"context"
	"crypto/subtle"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/trace"
)

// The keys of a Secret that holds a token.
const (
	idKey         = "token-id"
	secretKey     = "token-secret"
	expirationKey = "expiration"
	usageKey      = "usage-bootstrap-authentication"
	groupsKey     = "auth-extra-groups"
)

const (
	secretType   = corev1.SecretTypeBootstrapToken
	namePrefix   = "bootstrap-token-"
	userPrefix   = "system:bootstrap:"
	defaultGroup = "system:bootstrappers"
)

var (
	form      = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	groupForm = regexp.MustCompile(`\A` + defaultGroup + `:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

// BootstrapSecret returns the name of the Secret in kube-system for a user of [Tokens].
func BootstrapSecret(who user.Info) string {
	return namePrefix + strings.TrimPrefix(who.GetName(), userPrefix)
}

// BootstrapTokens returns the authenticator. It reads Secrets from reader.
func BootstrapTokens(reader *Reader) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		parts := form.FindStringSubmatch(token)
		if parts == nil {
			return nil, false, nil
		}
		id, name := parts[1], namePrefix+parts[1]
		secret, err := getObject[*corev1.Secret](ctx, reader, "secrets", metav1.NamespaceSystem, name)
		if apierrors.IsNotFound(err) {
			return nil, false, NewDoubt(trace.BootstrapSecretMissing, name)
		}
		if err != nil {
			return nil, false, err
		}
		if why, bad := doubtful(secret, id, parts[2], time.Now()); bad {
			return nil, false, NewDoubt(why, name)
		}
		groups, ok := groupsOf(secret)
		if !ok {
			return nil, false, NewDoubt(trace.BootstrapGroupsWrong, name)
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: userPrefix + id, Groups: groups}}, true, nil
	})
}

// doubtful returns why a Secret does not authenticate a token. The checks have the order of a kube-apiserver.
func doubtful(secret *corev1.Secret, id, word string, now time.Time) (why trace.Reason, bad bool) {
	switch {
	case secret.DeletionTimestamp != nil:
		return trace.BootstrapSecretGoing, true
	case secret.Type != secretType:
		return trace.BootstrapTypeWrong, true
	case subtle.ConstantTimeCompare(secret.Data[secretKey], []byte(word)) == 0:
		return trace.BootstrapWordWrong, true
	case string(secret.Data[idKey]) != id:
		return trace.BootstrapIdentifierWrong, true
	case hasExpired(string(secret.Data[expirationKey]), now):
		return trace.BootstrapExpired, true
	case string(secret.Data[usageKey]) != "true":
		return trace.BootstrapUsageWrong, true
	}
	return 0, false
}

// hasExpired reports whether an expiration has passed. One that can't be parsed counts as passed.
func hasExpired(expiration string, now time.Time) bool {
	if expiration == "" {
		return false
	}
	end, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !end.After(now)
}

// groupsOf returns the groups, sorted. It returns false if one of them is not for joining machines.
func groupsOf(secret *corev1.Secret) ([]string, bool) {
	groups := []string{defaultGroup}
	if more := string(secret.Data[groupsKey]); more != "" {
		for group := range strings.SplitSeq(more, ",") {
			if !groupForm.MatchString(group) {
				return nil, false
			}
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), true
}
