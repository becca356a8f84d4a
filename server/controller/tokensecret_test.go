package controller_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// serveTokens starts a server with a controller of secrets, or without.
func serveTokens(t *testing.T, dir string, names ...string) (controllertest.Clients, func()) {
	t.Helper()
	o := withAll()
	o.Controllers = append(controller.Selection{controller.Namespace}, names...)
	return controllertest.Serve(t, o, dir)
}

// tokenStageOf is the stage of a server, in the namespace default.
func tokenStageOf(t *testing.T, c controllertest.Clients) tokenStage {
	return tokenStage{(&controllertest.Scenes{State: tokenState}).Stage(t, c, "default")}
}

// TestTokenSecretStart has a server find what happened while nobody looked: secrets without tokens, and one whose account is gone.
func TestTokenSecretStart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, stop := serveTokens(t, dir, "serviceaccount-token-controller")
	s := tokenStageOf(t, c)
	for _, name := range []string{"kept", "gone"} {
		s.account(name)
		s.secret("of-"+name, name)
		s.filled("of-" + name)
	}
	before, err := s.CoreV1().Secrets("default").Get(t.Context(), "of-kept", metav1.GetOptions{})
	s.must(err)
	stop()
	c, stop = serveTokens(t, dir)
	s = tokenStageOf(t, c)
	s.secret("new", "kept")
	s.secret("nobodys", "nobody")
	s.deleteAccount("gone")
	stop()
	c, _ = serveTokens(t, dir, "serviceaccount-token-controller")
	s = tokenStageOf(t, c)
	s.filled("new")
	s.gone("of-gone")
	s.gone("nobodys")
	after, err := s.CoreV1().Secrets("default").Get(t.Context(), "of-kept", metav1.GetOptions{})
	s.must(err)
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("what was as it should be is at revision %s, and was at %s", after.ResourceVersion, before.ResourceVersion)
	}
}

// TestTokenSecretDamaged: a secret stays while its account can't be read, also over a start, and delays no other.
func TestTokenSecretDamaged(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, stop := serveTokens(t, dir, "serviceaccount-token-controller")
	s := tokenStageOf(t, c)
	s.account("a")
	s.secret("s", "a")
	s.filled("s")
	put := func(key, value string) {
		t.Helper()
		_, err := s.Etcd.Put(t.Context(), "/registry/"+key, value)
		s.must(err)
	}
	for _, value := range []string{"k8s\x00", "k8s\x00\xff\xff", "{", "", "k8s\x00\n\x00\x12\x04\n\x02\n\x00"} {
		put("serviceaccounts/default/a", value)
		put("secrets/default/damaged", value)
		put("secrets/damaged", value)
	}
	put("serviceaccounts/default/a", "k8s\x00\xff\xff")
	for _, key := range []string{"default/damaged", "damaged"} {
		_, err := s.Etcd.Delete(t.Context(), "/registry/secrets/"+key)
		s.must(err)
	}
	s.patch("s", `{"metadata":{"labels":{"a":"b"}}}`) // has it looked at
	s.account("b")
	s.fillsOther("first")
	stop()
	c, _ = serveTokens(t, dir, "serviceaccount-token-controller")
	s = tokenStageOf(t, c)
	s.fillsOther("second")
	if got, err := s.Etcd.Get(t.Context(), "/registry/secrets/default/s"); err != nil || got.Count != 1 {
		t.Fatalf("the secret is gone: %v", err)
	}
	_, err := s.Etcd.Delete(t.Context(), "/registry/serviceaccounts/default/a")
	s.must(err)
	s.gone("s")
}

// fillsOther makes a secret for the account b, and waits for its token. No accounts are listed: one of them is damaged.
func (s tokenStage) fillsOther(name string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), controllertest.Patience)
	defer cancel()
	s.secret(name, "b")
	w, err := s.CoreV1().Secrets(s.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	s.must(err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if secret, ok := event.Object.(*corev1.Secret); ok && len(secret.Data[corev1.ServiceAccountTokenKey]) > 0 {
			return
		}
	}
	s.T.Fatalf("the secret %s got no token", name)
}

// TestTokenSecretJourneys: the writes on a secret have their authors, causes and reasons, and no journey has the token.
func TestTokenSecretJourneys(t *testing.T) {
	t.Parallel()
	c, _ := serveTokens(t, "", "serviceaccount-token-controller")
	s := tokenStageOf(t, c)
	s.account("a", "s")
	s.secret("s", "a")
	s.filled("s")
	secret, err := s.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
	s.must(err)
	s.deleteSecret("s")
	s.AwaitNot("serviceaccounts/a s")
	s.secret("r", "a")
	s.filled("r")
	s.deleteAccount("a")
	s.gone("r")
	raw := s.journeys("")
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				Verb, Name, User string
			}
			Status struct {
				Cause struct{ Journey string }
			}
		}
	}
	s.must(json.Unmarshal(raw, &list))
	wrote := map[string]bool{}
	for _, j := range list.Items {
		if strings.HasSuffix(j.Spec.User, ":tokens-controller") && j.Status.Cause.Journey != "" {
			wrote[j.Spec.Verb+" "+j.Spec.Name] = true
			whole := s.journeys("/" + j.Metadata.Name)
			for _, part := range bytes.Split(secret.Data[corev1.ServiceAccountTokenKey], []byte(".")) {
				if bytes.Contains(whole, part) || bytes.Contains(whole, []byte(base64.StdEncoding.EncodeToString(part))) {
					t.Errorf("a part of the token is in a journey:\n%s", whole)
				}
			}
			if !bytes.Contains(whole, []byte("controller.decide")) {
				t.Errorf("it does not say what was decided:\n%s", whole)
			}
		}
	}
	for _, want := range []string{"update s", "update a", "update r", "delete r"} {
		if !wrote[want] {
			t.Errorf("no journey of the controller with a cause: %s, of %v", want, wrote)
		}
	}
}

func (s tokenStage) journeys(path string) []byte {
	s.T.Helper()
	raw, err := s.RESTClient().Get().AbsPath("/apis/kx.dev/v1alpha1/journeys"+path).SetHeader("Accept", "application/json").DoRaw(s.T.Context())
	s.must(err)
	return raw
}
