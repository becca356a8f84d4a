package bearer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	accounts "k8s.io/apiserver/pkg/authentication/serviceaccount"
	jti "k8s.io/apiserver/pkg/authentication/token/jwt"

	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// boundClaims are the private claims of a token that expires. They include objects that only a kube-apiserver binds
// tokens to.
type boundClaims struct {
	Kubernetes struct {
		serviceaccount.Kubernetes
		ValidatingWebhook *serviceaccount.Ref `json:"validatingwebhookconfiguration"`
		MutatingWebhook   *serviceaccount.Ref `json:"mutatingwebhookconfiguration"`
	} `json:"kubernetes.io"`
}

// errInvalidated does not name the missing object, because the bearer of the token may not be allowed to read it.
var errInvalidated = errors.New("service account token has been invalidated")

// boundAccount checks the times of a token, its account, and the object that it is bound to.
func boundAccount(ctx context.Context, o *Reader, _ string, public *jwt.Claims,
	private *boundClaims) (*accounts.ServiceAccountInfo, error) {
	now := time.Now()
	if err := checkTimes(public, now); err != nil {
		return nil, err
	}
	claims := &private.Kubernetes
	account, err := getObject[*corev1.ServiceAccount](ctx, o, "serviceaccounts", claims.Namespace, claims.ServiceAccount.Name)
	switch {
	case err != nil:
		return nil, err
	case string(account.UID) != claims.ServiceAccount.UID:
		return nil, fmt.Errorf("service account UID (%s) does not match claim (%s)", account.UID, claims.ServiceAccount.UID)
	case isGone(account, now):
		return nil, fmt.Errorf("service account %s/%s has been deleted", claims.Namespace, claims.ServiceAccount.Name)
	case claims.ValidatingWebhook != nil || claims.MutatingWebhook != nil:
		return nil, errors.New(`feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound`)
	}
	info := &accounts.ServiceAccountInfo{
		Namespace: claims.Namespace, Name: claims.ServiceAccount.Name, UID: claims.ServiceAccount.UID,
		CredentialID: jti.CredentialIDForJTI(public.ID),
	}
	if ref := claims.Secret; ref != nil {
		if err := checkBound[*corev1.Secret](ctx, o, "secrets", claims.Namespace, ref, now); err != nil {
			return nil, err
		}
	}
	if ref := claims.Pod; ref != nil {
		if err := checkBound[*corev1.Pod](ctx, o, "pods", claims.Namespace, ref, now); err != nil {
			return nil, err
		}
		info.PodName, info.PodUID = ref.Name, ref.UID
	}
	if ref := claims.Node; ref != nil {
		// If the token is bound to a pod, the node is only the one that the pod runs on.
		if claims.Pod == nil {
			if err := checkBound[*corev1.Node](ctx, o, "nodes", "", ref, now); err != nil {
				return nil, err
			}
		}
		info.NodeName, info.NodeUID = ref.Name, ref.UID
	}
	if warn := claims.WarnAfter; warn != 0 && now.Unix() > warn {
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/stale-token",
			fmt.Sprintf("subject: %s, seconds after warning threshold: %d", public.Subject, now.Unix()-warn))
	}
	return info, nil
}

// checkTimes tolerates clocks that differ by a minute.
func checkTimes(public *jwt.Claims, now time.Time) error {
	switch err := public.Validate(jwt.Expected{Time: now}); {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrExpired):
		return errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return errors.New("service account token is not valid yet")
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return errors.New("service account token is issued in the future")
	default:
		return fmt.Errorf("service account token claims could not be validated: %w", err)
	}
}

// checkBound checks that the object to which a token is bound still exists with the same UID.
func checkBound[T interface {
	runtime.Object
	metav1.Object
}](ctx context.Context, o *Reader, resource, namespace string, ref *serviceaccount.Ref, now time.Time) error {
	object, err := getObject[T](ctx, o, resource, namespace, ref.Name)
	switch {
	case err != nil:
		return errInvalidated
	case string(object.GetUID()) != ref.UID:
		kind := strings.TrimSuffix(resource, "s")
		return fmt.Errorf("%s UID (%s) does not match service account %s ref claim (%s)", kind, object.GetUID(), kind, ref.UID)
	case isGone(object, now):
		return errInvalidated
	}
	return nil
}

// isGone reports whether an object has been waiting for its removal for longer than clocks may differ. A pod that is
// terminating still needs its token.
func isGone(object metav1.Object, now time.Time) bool {
	end := object.GetDeletionTimestamp()
	return end != nil && end.Time.Before(now.Add(-jwt.DefaultLeeway))
}
