package authn

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn/bearer"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// Webhook is consulted about tokens that no other authenticator knows.
type Webhook struct {
	// File is a kubeconfig; empty for no webhook.
	File string
	// Version is the version of the TokenReviews that it gets.
	Version string
	// CacheTTL is the time for which its answers are cached.
	CacheTTL time.Duration
}

const (
	// mostReviewBytes limits the size of an answer.
	mostReviewBytes = 1 << 20
	// webhookTimeout limits one call, and all attempts together: the authentication of a token takes no longer.
	webhookTimeout = 30 * time.Second
)

// retries has the values of a kube-apiserver.
var retries = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

var (
	knownByWebhook = trace.Because("known-by-webhook",
		"by the token webhook {address:word}",
		"依据令牌 Webhook {address:word} 的回答")
	webhookKnowsNobody = trace.Because("webhook-knows-nobody",
		"the token webhook {address:word} does not know the token",
		"令牌 Webhook {address:word} 不认识这个令牌")
)

// newWebhook makes the authenticator that calls the webhook. Its errors and rejections name the webhook.
func newWebhook(c Webhook, audiences authenticator.Audiences) (authenticator.Token, error) {
	client, err := kxwebhook.Kubeconfig(c.File)
	if err != nil {
		return nil, fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
	}
	client.Timeout = webhookTimeout
	client = kxwebhook.LimitAnswers(client, func(int64) int64 { return mostReviewBytes })
	asked, err := webhook.New(client, c.Version, audiences, retries)
	if err != nil {
		return nil, fmt.Errorf("--authentication-token-webhook-config-file: %s: %w", c.File, err)
	}
	address := addressOf(client.Host)
	cached := cache.New(asked, false, c.CacheTTL, c.CacheTTL)
	named := authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		// The webhook may know a token that is only for others. So the request must name the audiences, and the answer
		// counts only if it includes one of them.
		if _, given := authenticator.AudiencesFrom(ctx); !given && len(audiences) > 0 {
			ctx = authenticator.WithAudiences(ctx, audiences)
		}
		answer, ok, err := cached.AuthenticateToken(ctx, token)
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("the token webhook %s: %w", address, err)
		case !ok:
			return nil, false, bearer.NewRejection(webhookKnowsNobody, address)
		}
		return answer, true, nil
	})
	return byToken(named, func(user.Info) Identity { return Identity{Why: knownByWebhook, Text: address} }), nil
}

// addressOf returns an address without a password or a query, so that it can be shown.
func addressOf(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return host
	}
	return u.Scheme + "://" + u.Host + u.Path
}
