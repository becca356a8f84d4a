package authn

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/kx-apiserver/kx/server/authn/bearer"
)

// reviewer is a token webhook, which does with each token what its text says.
func reviewer(t *testing.T, asked *atomic.Int64) (kubeconfig, address string) {
	t.Helper()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if !slices.Equal(review.Spec.Audiences, []string{"api"}) {
			t.Errorf("asked for %q", review.Spec.Audiences)
		}
		switch review.Spec.Token {
		case "good":
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: "ann", UID: "7", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"team": {"red"}},
			}}
		case "bad":
			review.Status.Error = "it was stolen"
		case "long":
			review.Status.Error = strings.Repeat("x", 2*mostReviewBytes)
		case "forbidden":
			http.Error(w, "my secret", http.StatusForbidden)
			return
		case "elsewhere":
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
			return
		case "nameless":
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Groups: []string{"dev"}}}
		case "kind":
			review.Kind, review.Status = "SubjectAccessReview", authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "ann"}}
		case "audience":
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, User: authenticationv1.UserInfo{Username: "ann"}, Audiences: []string{"another"},
			}
		case "page":
			_, _ = io.WriteString(w, "<html>my secret</html>")
			return
		case "years":
			w.Header().Set("Retry-After", "1000000000")
			http.Error(w, "my secret", http.StatusTooManyRequests)
			return
		case "slow":
			<-stop
		}
		review.Spec.Token = ""
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // whoever asks sees that it is cut
	}))
	t.Cleanup(func() {
		close(stop)
		server.Close()
	})
	kubeconfig = filepath.Join(t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "%s/review?key=hidden"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x`, server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, server.URL + "/review"
}

// TestWebhook: what a webhook says counts, and one that misbehaves is named and holds nobody up.
func TestWebhook(t *testing.T) {
	var asked atomic.Int64
	file, address := reviewer(t, &asked)
	for _, version := range []string{"v1", "v1beta1"} {
		a, err := newWebhook(Webhook{File: file, Version: version, CacheTTL: time.Minute}, []string{"api"})
		if err != nil {
			t.Fatal(err)
		}
		asked.Store(0)
		for range 2 {
			answer, ok, err := a.AuthenticateToken(t.Context(), "good")
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			who := answer.User.(*Identity)
			if got := fmt.Sprint(who.GetName(), who.GetUID(), who.GetGroups(), who.GetExtra()); got != "ann7[dev system:authenticated] map[team:[red]]" {
				t.Error(got)
			}
			if who.Why != knownByWebhook || who.Text != address {
				t.Errorf("%v %s", who.Why, who.Text)
			}
			for _, token := range []string{"unknown", "audience"} {
				_, _, err = a.AuthenticateToken(t.Context(), token)
				if rejections, rest := bearer.SplitRejections(err); rest != nil || len(rejections) != 1 || rejections[0].Why != webhookKnowsNobody || rejections[0].Text != address {
					t.Errorf("%s: %v", token, err)
				}
			}
		}
		if asked.Load() != 3 {
			t.Errorf("asked %d times, want each token once", asked.Load())
		}
		for token, want := range map[string]string{
			"bad": "it was stolen", "long": "it answered more than 1048576 bytes", "forbidden": "403 Forbidden", "elsewhere": "it answered 307, and redirects are not followed",
		} {
			_, ok, err := a.AuthenticateToken(t.Context(), token)
			if ok || err == nil || !strings.Contains(err.Error(), "the token webhook "+address+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "my secret") {
				t.Errorf("%s: %v, %v, want %s", token, ok, err, want)
			}
		}
		for token, want := range map[string]string{"nameless": "a user without a name", "kind": "", "page": ""} {
			_, ok, err := a.AuthenticateToken(t.Context(), token)
			if ok || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "my secret") {
				t.Errorf("%s: %v, %v, want %s", token, ok, err, want)
			}
		}
		for _, token := range []string{"slow", "years"} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, ok, err := a.AuthenticateToken(ctx, token)
			if ok || err == nil || !strings.Contains(err.Error(), "the token webhook "+address+": context deadline exceeded") {
				t.Errorf("%s: %v, %v", token, ok, err)
			}
			cancel()
		}
	}
}

// TestWrongWebhook: a kubeconfig that is of no use is named at the start.
func TestWrongWebhook(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/nowhere/x", empty} {
		_, err := New(t.Context(), Config{ClientCAs: x509.NewCertPool, Webhook: Webhook{File: file, Version: "v1"}})
		if err == nil || !strings.Contains(err.Error(), "--authentication-token-webhook-config-file: "+file+": ") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
