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
	groupForm = regexp.MustCompile(`\A` + defaultGroup + `:[a-z0-9:-]*[a-z0-9]\z`)
)

// maxGroup limits what follows the colon. As a part of the pattern the limit would take 2 ms of each start to compile.
const maxGroup = 256

// BootstrapSecret returns the name of the Secret in kube-system for a user of [Tokens].
func BootstrapSecret(who user.Info) string {
	return namePrefix + strings.TrimPrefix(who.GetName(), userPrefix)
}

var (
	bootstrapSecretMissing = trace.Because("bootstrap-secret-missing",
		"a bootstrap token, and there is no Secret kube-system/{secret:word}",
		"引导令牌，但没有 Secret kube-system/{secret:word}")
	bootstrapGroupsWrong = trace.Because("bootstrap-groups-wrong",
		"a bootstrap token, and auth-extra-groups of the Secret kube-system/{secret:word} has more than groups that "+
			"begin with system:bootstrappers:",
		"引导令牌，但 Secret kube-system/{secret:word} 的 auth-extra-groups 中有不以 system:bootstrappers: 开头的组")
)

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
			return nil, false, NewRejection(bootstrapSecretMissing, name)
		}
		if err != nil {
			return nil, false, err
		}
		if why, bad := rejectionOf(secret, id, parts[2], time.Now()); bad {
			return nil, false, NewRejection(why, name)
		}
		groups, ok := groupsOf(secret)
		if !ok {
			return nil, false, NewRejection(bootstrapGroupsWrong, name)
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: userPrefix + id, Groups: groups}}, true, nil
	})
}

var (
	bootstrapSecretGoing = trace.Because("bootstrap-secret-going",
		"a bootstrap token, and its Secret kube-system/{secret:word} is being deleted",
		"引导令牌，但它的 Secret kube-system/{secret:word} 正在删除")
	bootstrapTypeWrong = trace.Because("bootstrap-type-wrong",
		"a bootstrap token, and the type of the Secret kube-system/{secret:word} is not bootstrap.kubernetes.io/token",
		"引导令牌，但 Secret kube-system/{secret:word} 的类型不是 bootstrap.kubernetes.io/token")
	bootstrapWordWrong = trace.Because("bootstrap-word-wrong",
		"a bootstrap token, and token-secret of the Secret kube-system/{secret:word} is another one",
		"引导令牌，但 Secret kube-system/{secret:word} 的 token-secret 与它不同")
	bootstrapIdentifierWrong = trace.Because("bootstrap-identifier-wrong",
		"a bootstrap token, and token-id of the Secret kube-system/{secret:word} is another one",
		"引导令牌，但 Secret kube-system/{secret:word} 的 token-id 与它不同")
	bootstrapExpired = trace.Because("bootstrap-expired",
		"a bootstrap token, and by expiration of the Secret kube-system/{secret:word} it has ended",
		"引导令牌，但按 Secret kube-system/{secret:word} 的 expiration 已经过期")
	bootstrapUsageWrong = trace.Because("bootstrap-usage-wrong",
		"a bootstrap token, and the Secret kube-system/{secret:word} does not have usage-bootstrap-authentication as true",
		"引导令牌，但 Secret kube-system/{secret:word} 的 usage-bootstrap-authentication 不是 true")
)

// rejectionOf returns why a Secret does not authenticate a token. The checks have the order of a kube-apiserver.
func rejectionOf(secret *corev1.Secret, id, word string, now time.Time) (why trace.Reason, bad bool) {
	switch {
	case secret.DeletionTimestamp != nil:
		return bootstrapSecretGoing, true
	case secret.Type != secretType:
		return bootstrapTypeWrong, true
	case subtle.ConstantTimeCompare(secret.Data[secretKey], []byte(word)) == 0:
		return bootstrapWordWrong, true
	case string(secret.Data[idKey]) != id:
		return bootstrapIdentifierWrong, true
	case hasExpired(string(secret.Data[expirationKey]), now):
		return bootstrapExpired, true
	case string(secret.Data[usageKey]) != "true":
		return bootstrapUsageWrong, true
	}
	return trace.Reason{}, false
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
			if len(group) > len(defaultGroup)+1+maxGroup || !groupForm.MatchString(group) {
				return nil, false
			}
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), true
}
