package serviceaccount

import (
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Claims are what a token says, except who issued it. Private is a [BoundPrivate] or a [LegacyPrivate].
type Claims struct {
	Public  Public
	Private any
}

// Public are the claims that all tokens of the web may have. Times are in seconds since 1970. The audience is a list
// also if it has one member, as in tokens of a kube-apiserver.
type Public struct {
	Issuer    string   `json:"iss,omitempty"`
	Subject   string   `json:"sub,omitempty"`
	Audience  []string `json:"aud,omitempty"`
	Expiry    int64    `json:"exp,omitempty"`
	NotBefore int64    `json:"nbf,omitempty"`
	IssuedAt  int64    `json:"iat,omitempty"`
	ID        string   `json:"jti,omitempty"`
}

// BoundPrivate are the claims of a token with an end.
type BoundPrivate struct {
	Kubernetes Kubernetes `json:"kubernetes.io"`
}

// Kubernetes names the objects without which a token is not valid. Node alone is different: beside a Pod it only tells
// where that runs.
type Kubernetes struct {
	Namespace      string `json:"namespace,omitempty"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
	WarnAfter      int64  `json:"warnafter,omitempty"`
}

// Ref names one object. The UID tells it from a later one of the same name.
type Ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// LegacyPrivate are the claims of a token that a Secret holds.
type LegacyPrivate struct {
	ServiceAccountName string `json:"kubernetes.io/serviceaccount/service-account.name"`
	ServiceAccountUID  string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	SecretName         string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace          string `json:"kubernetes.io/serviceaccount/namespace"`
}

// Bound are the objects that a token ends with: a pod, which may come with its node, or a secret, or a node. All are
// nil for a token that depends on its account alone.
type Bound struct {
	Pod    *corev1.Pod
	Secret *corev1.Secret
	Node   *corev1.Node
}

// Validity says from when a token is valid, and for how long. WarnAfter (optional) is after how much time its use is
// worth a warning.
type Validity struct {
	From           time.Time
	For, WarnAfter time.Duration
}

// BoundClaims are the claims of a token with an end.
func BoundClaims(sa *corev1.ServiceAccount, to Bound, audiences []string, valid Validity) Claims {
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

// LegacyClaims are the claims of a token that the secret will hold.
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
