package serviceaccount

import (
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Claims holds the claims of a token, except the issuer. Private is a [BoundPrivate] or a [LegacyPrivate].
type Claims struct {
	Public  Public
	Private any
}

// Public holds the registered claims of JSON Web Tokens. Times are in seconds since 1970. The audience is
// always a list, as in tokens of a kube-apiserver.
type Public struct {
	Issuer    string   `json:"iss,omitempty"`
	Subject   string   `json:"sub,omitempty"`
	Audience  []string `json:"aud,omitempty"`
	Expiry    int64    `json:"exp,omitempty"`
	NotBefore int64    `json:"nbf,omitempty"`
	IssuedAt  int64    `json:"iat,omitempty"`
	ID        string   `json:"jti,omitempty"`
}

// BoundPrivate holds the private claims of a token that expires.
type BoundPrivate struct {
	Kubernetes Kubernetes `json:"kubernetes.io"`
}

// Kubernetes names the objects that must exist for a token to be valid. Node is an exception: beside a Pod it
// only tells where the pod runs.
type Kubernetes struct {
	Namespace      string `json:"namespace,omitempty"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
	WarnAfter      int64  `json:"warnafter,omitempty"`
}

// Ref names one object. The UID distinguishes it from a later one of the same name.
type Ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// LegacyPrivate holds the private claims of a token in a Secret.
type LegacyPrivate struct {
	ServiceAccountName string `json:"kubernetes.io/serviceaccount/service-account.name"`
	ServiceAccountUID  string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	SecretName         string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace          string `json:"kubernetes.io/serviceaccount/namespace"`
}

// Binding holds the objects whose end also ends the token: a pod, which may come with its node, or a secret, or a
// node. All are nil for a token that depends only on its account.
type Binding struct {
	Pod    *corev1.Pod
	Secret *corev1.Secret
	Node   *corev1.Node
}

// Validity is the time in which a token is valid. A use after WarnAfter (optional) causes a warning.
type Validity struct {
	From           time.Time
	For, WarnAfter time.Duration
}

// BoundClaims returns the claims of a token that expires.
func BoundClaims(sa *corev1.ServiceAccount, to Binding, audiences []string, valid Validity) Claims {
	private := BoundPrivate{Kubernetes{Namespace: sa.Namespace, ServiceAccount: *refOf(sa)}}
	if to.Pod != nil {
		private.Kubernetes.Pod = refOf(to.Pod)
	}
	if to.Secret != nil {
		private.Kubernetes.Secret = refOf(to.Secret)
	}
	if to.Node != nil {
		private.Kubernetes.Node = refOf(to.Node)
	}
	if valid.WarnAfter != 0 {
		private.Kubernetes.WarnAfter = valid.From.Add(valid.WarnAfter).Unix()
	}
	return Claims{
		Public: Public{
			Subject:   serviceaccount.MakeUsername(sa.Namespace, sa.Name),
			Audience:  audiences,
			IssuedAt:  valid.From.Unix(),
			NotBefore: valid.From.Unix(),
			Expiry:    valid.From.Add(valid.For).Unix(),
			ID:        uuid.NewString(),
		},
		Private: private,
	}
}

// LegacyClaims returns the claims of a token for a secret.
func LegacyClaims(sa *corev1.ServiceAccount, secret *corev1.Secret) Claims {
	return Claims{
		Public: Public{Subject: serviceaccount.MakeUsername(sa.Namespace, sa.Name)},
		Private: LegacyPrivate{
			ServiceAccountName: sa.Name,
			ServiceAccountUID:  string(sa.UID),
			SecretName:         secret.Name,
			Namespace:          sa.Namespace,
		},
	}
}

func refOf(obj metav1.Object) *Ref { return &Ref{Name: obj.GetName(), UID: string(obj.GetUID())} }
