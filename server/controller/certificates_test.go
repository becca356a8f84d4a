package controller_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func startCertificates(t *testing.T, dir string, duration time.Duration, etcds ...string) certificateStage {
	t.Helper()
	o := withAll()
	o.ClusterSigningDuration = duration
	clients, _ := controllertest.Serve(t, o, dir, etcds...)
	return certificateStage{(&controllertest.Scenes{State: certificateState}).Stage(t, clients, "default")}
}

// TestCertificateClient asks for a certificate, has that approved, and is somebody else with it.
func TestCertificateClient(t *testing.T) {
	t.Parallel()
	s := startCertificates(t, "", time.Hour)
	key := s.approved("ann", clientSigner, 0, subject("ann", "gardeners"), digital, clientAuth)
	s.AwaitPart("ann Approved=True: CN=ann,O=gardeners [] [] [] [] usage 1 [clientAuth], authority false (true), from -5 minutes on for 1h5m0s")
	r := must[*signingRequest](t)(s.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "default-ann", metav1.GetOptions{}))
	config := rest.AnonymousClientConfig(s.Config)
	config.CertData = r.Status.Certificate
	config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: must[[]byte](t)(x509.MarshalECPrivateKey(key))})
	_, err := s.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reviews"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{authenticationv1.GroupName}, Resources: []string{"selfsubjectreviews"}},
	}}, metav1.CreateOptions{})
	if err == nil {
		_, err = s.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reviews"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reviews"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "gardeners"}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group may do so", func() bool {
		review := must[*authorizationv1.SubjectAccessReview](t)(s.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "ann", Groups: []string{"gardeners"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"},
			},
		}, metav1.CreateOptions{}))
		return review.Status.Allowed
	})
	who := must[*authenticationv1.SelfSubjectReview](t)(must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config)).AuthenticationV1().
		SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})).Status.UserInfo
	if got := fmt.Sprint(who.Username, who.Groups); got != "ann[gardeners system:authenticated]" {
		t.Errorf("with the certificate one is %s", got)
	}
}

// old is a request as it is stored, whose conditions and creation are so old. Its certificate ended long ago, if it has one.
func (s certificateStage) old(name string, age time.Duration, change func(r *signingRequest, at metav1.Time)) {
	s.T.Helper()
	at := metav1.NewTime(time.Now().Add(-age))
	data, _ := requestPEM(s.T, subject("ann"))
	r := &signingRequest{
		TypeMeta:   metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name, UID: "1", CreationTimestamp: at},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: data, SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{clientAuth}, Username: "ann",
		},
	}
	change(r, at)
	value := must[[]byte](s.T)(json.Marshal(r))
	if _, err := s.Etcd.Put(s.T.Context(), "/registry/certificatesigningrequests/"+r.Name, string(value)); err != nil {
		s.T.Fatal(err)
	}
}

func hasCondition(condition certificatesv1.RequestConditionType, certificate string) func(*signingRequest, metav1.Time) {
	return func(r *signingRequest, at metav1.Time) {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: condition, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at,
		})
		r.Status.Certificate = []byte(certificate)
	}
}

// endedCertificate is a certificate that is not valid any more.
func endedCertificate(t *testing.T) string {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(-time.Minute)}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestCertificateCleaner has requests that are as old as can be, and a little older.
func TestCertificateCleaner(t *testing.T) {
	t.Parallel()
	s := startCertificates(t, "", time.Hour)
	const minute = time.Minute
	kinds := map[string]struct {
		stays  time.Duration
		change func(*signingRequest, metav1.Time)
	}{
		"pending":   {24 * time.Hour, func(*signingRequest, metav1.Time) {}},
		"denied":    {time.Hour, hasCondition(certificatesv1.CertificateDenied, "")},
		"failed":    {time.Hour, hasCondition(certificatesv1.CertificateFailed, "")},
		"unissued":  {24 * time.Hour, hasCondition(certificatesv1.CertificateApproved, "")},
		"issued":    {time.Hour, hasCondition(certificatesv1.CertificateApproved, "not a certificate")},
		"unheardof": {1000 * time.Hour, hasCondition("Other", "")},
	}
	for name, kind := range kinds {
		s.old("young-"+name, kind.stays-minute, kind.change)
		s.old("old-"+name, kind.stays+minute, kind.change)
	}
	s.old("timeless", 1000*time.Hour, func(r *signingRequest, _ metav1.Time) {
		hasCondition(certificatesv1.CertificateDenied, "")(r, metav1.Time{})
	})
	s.old("ended", minute, hasCondition(certificatesv1.CertificateApproved, endedCertificate(t)))
	for name := range kinds {
		if name != "unheardof" {
			s.AwaitNot("old-" + name)
		}
		s.AwaitPart("young-" + name)
	}
	s.AwaitPart("old-unheardof")
	s.AwaitPart("timeless")
	s.AwaitNot("ended ")
}

// TestCertificateOdd has what no client can write: bytes that are no request, one without a status, and one that was approved but can't be
// parsed.
func TestCertificateOdd(t *testing.T) {
	t.Parallel()
	s := startCertificates(t, "", time.Hour)
	put := func(name, value string) {
		t.Helper()
		if _, err := s.Etcd.Put(t.Context(), "/registry/certificatesigningrequests/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	s.old("unparsed", time.Minute, func(r *signingRequest, at metav1.Time) {
		hasCondition(certificatesv1.CertificateApproved, "")(r, at)
		r.Spec.SignerName, r.Spec.Request = clientSigner, []byte("nonsense")
	})
	put("default-nothing", `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest"}`)
	put("damaged", "k8s\x00\xff\xff")
	if _, err := s.Etcd.Delete(t.Context(), "/registry/certificatesigningrequests/damaged"); err != nil {
		t.Fatal(err)
	}
	s.approved("ann", clientSigner, 0, subject("ann"), clientAuth)
	s.AwaitPart("ann Approved=True: CN=ann")
	s.AwaitPart("unparsed Approved=True")
	for _, line := range certificateState(s.Stage) {
		if line != "unparsed Approved=True" && line[:4] != "ann " && line != "nothing" {
			t.Errorf("there is %q", line)
		}
	}
}

// TestCertificateTwo has two servers on one etcd: one of them signs, once.
func TestCertificateTwo(t *testing.T) {
	t.Parallel()
	s := startCertificates(t, "", time.Hour)
	other := startCertificates(t, "", time.Hour, s.Etcd.Endpoints()...)
	for i := range 10 {
		name := fmt.Sprint("r", i)
		s.ask(name, clientSigner, 0, subject(name), clientAuth)
		other.decide(name, certificatesv1.CertificateApproved)
	}
	for i := range 10 {
		s.AwaitPart(fmt.Sprintf("r%d Approved=True: CN=r%d ", i, i))
	}
}
