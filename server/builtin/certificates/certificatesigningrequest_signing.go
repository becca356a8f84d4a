package certificates

import (
	"context"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	specDocs   = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()
	statusDocs = certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()
)

// CertificateSigningRequest declares certificatesigningrequests.certificates.k8s.io: a request for a signature, the
// decision about it, and the certificate.
//
// Each part has its own writer. On creation the server records the user. After that, the subresource approval writes
// the conditions, and the subresource status writes the certificate and all conditions but decisions. An update of
// the object itself changes only the metadata.
var CertificateSigningRequest = builtin.Resource[*certificatesv1.CertificateSigningRequest]{
	Names: builtin.Names{
		Plural: "certificatesigningrequests", Singular: "certificatesigningrequest", Short: []string{"csr"},
	},
	List:          &certificatesv1.CertificateSigningRequestList{},
	Stored:        certificatesv1.SchemeGroupVersion,
	ClusterScoped: true,
	Fields: []builtin.Field[*certificatesv1.CertificateSigningRequest]{
		{Label: "spec.signerName", Value: func(r *certificatesv1.CertificateSigningRequest) string { return r.Spec.SignerName }},
	},
	PrepareCreate: signWithUser,
	// Only subresources change a request.
	PrepareUpdate: func(r, old *certificatesv1.CertificateSigningRequest) { r.Spec = old.Spec },
	Validate: func(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
		return validateCertificateSigningRequest(r, leniency{})
	},
	ValidateUpdate: checkUpdate(ofObject),
	Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
		return strategy{s}
	}),
	Status: &builtin.Status[*certificatesv1.CertificateSigningRequest]{
		Of: func(r *certificatesv1.CertificateSigningRequest) any { return &r.Status },
		Part: builtin.Part[*certificatesv1.CertificateSigningRequest]{
			Keep:  keepInStatus,
			Reset: []string{"spec", "status.conditions"},
			Check: checkUpdate(ofStatus),
		},
	},
	Sub: []builtin.Sub{{Name: "approval", New: builtin.Make(func(main *builtin.REST) rest.Storage {
		return builtin.NewPart(main, "approval", certificatesv1.SchemeGroupVersion, builtin.Part[*certificatesv1.CertificateSigningRequest]{
			Keep:  keepInApproval,
			Reset: []string{"spec", "status.certificate"},
			Check: checkUpdate(ofApproval),
		})
	})}},
	Columns: []builtin.Column{
		builtin.NameColumn,
		builtin.AgeColumn,
		{Name: "SignerName", Type: "string", Description: specDocs["signerName"]},
		{Name: "Requestor", Type: "string", Description: specDocs["request"]},
		{Name: "RequestedDuration", Type: "string", Description: specDocs["expirationSeconds"]},
		{Name: "Condition", Type: "string", Description: statusDocs["conditions"]},
	},
	Row: row,
}

// strategy keeps clients of updates from owning fields of the spec and the status.
type strategy struct {
	builtin.Strategy
}

func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields(certificatesv1.SchemeGroupVersion, "spec", "status")
}

// signWithUser records the user of the request, whatever the client sends.
func signWithUser(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
	r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
	user, ok := request.UserFrom(ctx)
	if !ok {
		return
	}
	r.Spec.Username, r.Spec.UID, r.Spec.Groups = user.GetName(), user.GetUID(), user.GetGroups()
	if len(user.GetExtra()) > 0 {
		r.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		for key, value := range user.GetExtra() {
			r.Spec.Extra[key] = value
		}
	}
}

// keepInStatus restores the content of the decisions. If the client added or removed one, validation refuses the
// update.
func keepInStatus(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec = old.Spec
	for _, decision := range decisions {
		was, is := indexes(old, decision), indexes(r, decision)
		if len(was) != len(is) {
			continue
		}
		for i, at := range is {
			r.Status.Conditions[at] = old.Status.Conditions[was[i]]
		}
	}
	setTimes(r, old)
}

// keepInApproval restores everything but the conditions.
func keepInApproval(r, old *certificatesv1.CertificateSigningRequest) {
	setTimes(r, old)
	conditions := r.Status.Conditions
	r.Spec, r.Status = old.Spec, old.Status
	r.Status.Conditions = conditions
}

func indexes(r *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) (all []int) {
	for i, c := range r.Status.Conditions {
		if c.Type == kind {
			all = append(all, i)
		}
	}
	return all
}

// setTimes fills in the times of conditions. A condition with an unchanged status keeps its transition time.
func setTimes(r, old *certificatesv1.CertificateSigningRequest) {
	now := metav1.Now()
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		same := func(was certificatesv1.CertificateSigningRequestCondition) bool {
			return was.Type == c.Type && was.Status == c.Status && !was.LastTransitionTime.IsZero()
		}
		if at := slices.IndexFunc(old.Status.Conditions, same); at >= 0 {
			c.LastTransitionTime = old.Status.Conditions[at].LastTransitionTime
		}
	}
}

func row(r *certificatesv1.CertificateSigningRequest) metav1.TableRow {
	signer, lifetime := "<none>", "<none>"
	if r.Spec.SignerName != "" {
		signer = r.Spec.SignerName
	}
	if s := r.Spec.ExpirationSeconds; s != nil {
		lifetime = duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	return builtin.Row(r.Name, builtin.Age(r.CreationTimestamp), signer, r.Spec.Username, lifetime, condition(r))
}

func condition(r *certificatesv1.CertificateSigningRequest) string {
	has := func(kind certificatesv1.RequestConditionType) bool { return len(indexes(r, kind)) > 0 }
	words := []string{"Pending"}
	if has(certificatesv1.CertificateDenied) {
		words[0] = "Denied"
	} else if has(certificatesv1.CertificateApproved) {
		words[0] = "Approved"
	}
	if has(certificatesv1.CertificateFailed) {
		words = append(words, "Failed")
	}
	if len(r.Status.Certificate) > 0 {
		words = append(words, "Issued")
	}
	return strings.Join(words, ",")
}
