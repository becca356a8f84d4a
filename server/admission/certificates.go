package admission

import (
	"context"
	"reflect"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/certificates"
)

// certificateApproval requires the permission to approve for the signer of a request.
func certificateApproval(kit *plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onUpdate, About: plugin.Resources(certificatesv1.GroupName, "certificatesigningrequests/approval"),
		Validate: plugin.WithOld(func(ctx context.Context, w plugin.Write, _, old *certificatesv1.CertificateSigningRequest) error {
			return mayForSigner(ctx, kit, w, "approve", old.Spec.SignerName, "user not permitted to approve requests with signerName %q")
		}),
	}
}

var pluginLeft = trace.Because("plugin-left", "there is nothing to do for it here", "这里没有需要它做的事")

// certificateSigning requires the permission to sign as the signer of a request.
func certificateSigning(kit *plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onUpdate, About: plugin.Resources(certificatesv1.GroupName, "certificatesigningrequests/status"),
		Validate: plugin.WithOld(func(ctx context.Context, w plugin.Write, request, old *certificatesv1.CertificateSigningRequest) error {
			if reflect.DeepEqual(request.Status.Certificate, old.Status.Certificate) &&
				apiequality.Semantic.DeepEqual(request.Status.Conditions, old.Status.Conditions) {
				w.Step.Why(pluginLeft)
				return nil
			}
			return mayForSigner(ctx, kit, w, "sign", old.Spec.SignerName, "user not permitted to sign requests with signerName %q")
		}),
	}
}

// trustBundleAttest requires the permission to attest for the signer of a bundle.
func trustBundleAttest(kit *plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources(certificatesv1.GroupName, "clustertrustbundles"),
		Validate: plugin.WithObject(func(ctx context.Context, w plugin.Write, bundle *certificatesv1beta1.ClusterTrustBundle) error {
			old, _ := w.GetOldObject().(*certificatesv1beta1.ClusterTrustBundle)
			if bundle.Spec.SignerName == "" || w.GetOperation() == admission.Update && old != nil && builtin.OnlyCollected(bundle, old) {
				w.Step.Why(pluginLeft)
				return nil
			}
			return mayForSigner(ctx, kit, w, "attest", bundle.Spec.SignerName, "user not permitted to attest for signerName %q")
		}),
	}
}

var signerAllowed = trace.Because("signer-allowed", "the user may {verb:quote}", "用户有权 {verb:quote}")

// mayForSigner checks the permission for the signer's name, then for all signers of its domain.
func mayForSigner(ctx context.Context, kit *plugin.Kit, w plugin.Write, verb, signer, refusal string) error {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		if mayAsSigner(ctx, kit.Authorizer, w.GetUserInfo(), verb, name) {
			w.Step.WhyText(signerAllowed, verb+" "+name)
			return nil
		}
	}
	return w.Refusal(refusal, signer)
}

// mayAsSigner treats an authorizer's error as a denial: the caller goes on to the next name, which may be
// allowed.
func mayAsSigner(ctx context.Context, a authorizer.Authorizer, who user.Info, verb, signer string) bool {
	decision, _, _ := a.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, Name: signer, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
		ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

var subjectHarmless = trace.Because("subject-harmless",
	"the certificate would not be one of those who may do all",
	"该证书不属于拥有全部权限的用户组")

// certificateSubjectRestriction refuses certificate requests for the group system:masters.
func certificateSubjectRestriction(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources(certificatesv1.GroupName, "certificatesigningrequests"),
		Validate: plugin.WithObject(func(_ context.Context, w plugin.Write, request *certificatesv1.CertificateSigningRequest) error {
			if request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
				w.Step.Why(pluginLeft)
				return nil
			}
			asked, err := certificates.ParseRequest(request.Spec.Request)
			if err != nil {
				return w.Refusal("failed to parse CSR: %w", err)
			}
			if slices.Contains(asked.Subject.Organization, user.SystemPrivilegedGroup) {
				return w.Refusal("use of %s signer with system:masters group is not allowed", certificatesv1.KubeAPIServerClientSignerName)
			}
			w.Step.Why(subjectHarmless)
			return nil
		}),
	}
}
