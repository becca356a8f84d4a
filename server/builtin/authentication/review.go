package authentication

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// SelfSubjectReviewREST tells who asks who they are.
type SelfSubjectReviewREST struct{}

// TokenReviewREST tells whom a token is of.
type TokenReviewREST struct {
	// Authenticator is asked as a request with the token would.
	Authenticator authenticator.Request
}

var (
	_ rest.Creater              = SelfSubjectReviewREST{}
	_ rest.Scoper               = SelfSubjectReviewREST{}
	_ rest.SingularNameProvider = SelfSubjectReviewREST{}
	_ rest.Creater              = TokenReviewREST{}
	_ rest.Scoper               = TokenReviewREST{}
	_ rest.SingularNameProvider = TokenReviewREST{}
)

func (SelfSubjectReviewREST) New() runtime.Object     { return &authenticationv1.SelfSubjectReview{} }
func (SelfSubjectReviewREST) Destroy()                {}
func (SelfSubjectReviewREST) NamespaceScoped() bool   { return false }
func (SelfSubjectReviewREST) GetSingularName() string { return "selfsubjectreview" }

// Create answers; what the review says does not matter.
func (SelfSubjectReviewREST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	if createValidation != nil {
		if err := createValidation(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if _, err := builtin.As[*authenticationv1.SelfSubjectReview](obj); err != nil {
		return nil, err
	}
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: infoOf(who)},
	}, nil
}

func (TokenReviewREST) New() runtime.Object     { return &authenticationv1.TokenReview{} }
func (TokenReviewREST) Destroy()                {}
func (TokenReviewREST) NamespaceScoped() bool   { return false }
func (TokenReviewREST) GetSingularName() string { return "tokenreview" }

// Create asks the authenticator about a token.
func (r TokenReviewREST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	review, err := builtin.As[*authenticationv1.TokenReview](obj)
	if err != nil {
		return nil, err
	}
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if createValidation != nil {
		if err := createValidation(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	review.Status = authenticationv1.TokenReviewStatus{}
	if len(review.Spec.Audiences) > 0 {
		return review, nil // this server's tokens are for no audience in particular, so for none of these
	}
	// A request that has nothing but the token: neither a certificate nor a path that is open to all.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	req.Header.Set("Authorization", "Bearer "+review.Spec.Token)
	answer, ok, err := r.Authenticator.AuthenticateRequest(req)
	review.Status.Authenticated = ok
	if err != nil {
		review.Status.Error = err.Error()
	}
	if ok && answer != nil && answer.User != nil {
		review.Status.User, review.Status.Audiences = infoOf(answer.User), answer.Audiences
	}
	return review, nil
}

func infoOf(who user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	if extra := who.GetExtra(); len(extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(extra))
		for key, values := range extra {
			info.Extra[key] = values
		}
	}
	return info
}
