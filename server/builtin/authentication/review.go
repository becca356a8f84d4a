package authentication

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Resources declares the reviews. For a TokenReview, a authenticates a request that carries the token.
func Resources(a authenticator.Request, audiences []string) []builtin.Declaration {
	return []builtin.Declaration{
		builtin.DeclareReview(builtin.Review[*authenticationv1.SelfSubjectReview]{
			Names:  builtin.Names{Plural: "selfsubjectreviews", Singular: "selfsubjectreview"},
			Served: authenticationv1.SchemeGroupVersion,
			Answer: answerSelf,
		}),
		builtin.DeclareReview(builtin.Review[*authenticationv1.TokenReview]{
			Names:    builtin.Names{Plural: "tokenreviews", Singular: "tokenreview"},
			Served:   authenticationv1.SchemeGroupVersion,
			Validate: validateToken,
			Answer: func(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
				return answerToken(ctx, a, audiences, review)
			},
			Sample: "spec: {token: the-token}",
		}),
	}
}

// answerSelf returns the user of the request. It ignores the content of the review.
func answerSelf(ctx context.Context, _ *authenticationv1.SelfSubjectReview) (*authenticationv1.SelfSubjectReview, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: infoOf(who)},
	}, nil
}

func validateToken(review *authenticationv1.TokenReview) error {
	if review.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	return nil
}

// answerToken asks the authenticator about a token. Without audiences in the review, it uses those of this API.
func answerToken(ctx context.Context, a authenticator.Request, audiences []string,
	review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	review.Status = authenticationv1.TokenReviewStatus{}
	if len(review.Spec.Audiences) > 0 {
		audiences = review.Spec.Audiences
	}
	// The request carries only the token: no certificate and no public path can authenticate it.
	req, err := http.NewRequestWithContext(authenticator.WithAudiences(ctx, audiences), http.MethodGet, "/", nil)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	req.Header.Set("Authorization", "Bearer "+review.Spec.Token)
	answer, ok, err := a.AuthenticateRequest(req)
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
