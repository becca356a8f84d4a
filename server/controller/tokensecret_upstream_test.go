package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

type tokenStage struct{ *controllertest.Stage }

func (s tokenStage) must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// account makes a service account that lists secrets, and returns its UID.
func (s tokenStage) account(name string, secrets ...string) string {
	s.T.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, secret := range secrets {
		sa.Secrets = append(sa.Secrets, corev1.ObjectReference{Name: secret})
	}
	made, err := s.CoreV1().ServiceAccounts(s.Namespace).Create(s.T.Context(), sa, metav1.CreateOptions{})
	s.must(err)
	return string(made.UID)
}

func (s tokenStage) deleteAccount(name string) {
	s.T.Helper()
	s.must(s.CoreV1().ServiceAccounts(s.Namespace).Delete(s.T.Context(), name, metav1.DeleteOptions{}))
}

// secret makes one for the token of an account.
func (s tokenStage) secret(name, account string, more ...func(*corev1.Secret)) {
	s.T.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	for _, change := range more {
		change(secret)
	}
	_, err := s.CoreV1().Secrets(s.Namespace).Create(s.T.Context(), secret, metav1.CreateOptions{})
	s.must(err)
}

func (s tokenStage) deleteSecret(name string) {
	s.T.Helper()
	s.must(s.CoreV1().Secrets(s.Namespace).Delete(s.T.Context(), name, metav1.DeleteOptions{}))
}

func (s tokenStage) patch(name, patch string) {
	s.T.Helper()
	_, err := s.CoreV1().Secrets(s.Namespace).Patch(s.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// filled waits until a secret has a token.
func (s tokenStage) filled(name string) {
	s.T.Helper()
	s.AwaitPart("secrets/" + name + " token:valid")
}

// gone waits until a secret is gone.
func (s tokenStage) gone(name string) { s.T.Helper(); s.AwaitNot("secrets/" + name + " ") }

// withUID has a secret name the account that it means.
func withUID(uid string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Annotations[corev1.ServiceAccountUIDKey] = uid }
}

func withData(key, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(value)
	}
}

func holding(s *corev1.Secret) { s.Finalizers = []string{"example.com/held"} }

var tokenScenes = map[string]func(tokenStage){
	"a secret of an account": func(s tokenStage) { s.account("a"); s.secret("s", "a") },
	"two secrets of an account": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.secret("r", "a")
	},
	"no account": func(s tokenStage) { s.secret("s", "a"); s.gone("s") },
	"the account is deleted": func(s tokenStage) {
		s.account("a")
		s.account("b")
		s.secret("s", "a")
		s.secret("r", "b")
		s.filled("s")
		s.filled("r")
		s.deleteAccount("a")
		s.gone("s")
	},
	"the account is made anew": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.deleteAccount("a")
		s.account("a")
		s.gone("s")
		s.secret("r", "a")
		s.filled("r")
	},
	"with the right uid": func(s tokenStage) { s.secret("s", "a", withUID(s.account("a"))) },
	"with another uid":   func(s tokenStage) { s.account("a"); s.secret("s", "a", withUID("another")); s.gone("s") },
	"the uid is changed": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"metadata":{"annotations":{"kubernetes.io/service-account.uid":"another"}}}`)
		s.gone("s")
	},
	"the uid is removed": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"metadata":{"annotations":{"kubernetes.io/service-account.uid":null}}}`)
	},
	"the account is changed": func(s tokenStage) {
		s.account("a")
		s.account("b")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"b"}}}`)
		s.gone("s")
	},
	"account and uid go": func(s tokenStage) {
		s.account("a")
		s.account("b")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"b","kubernetes.io/service-account.uid":null}}}`)
	},
	"the token is removed": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"data":{"token":null}}`)
		s.filled("s")
	},
	"all data is removed": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"data":null}`)
		s.filled("s")
	},
	"the token is another": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"stringData":{"token":"another"}}`)
	},
	"the namespace is another": func(s tokenStage) { s.account("a"); s.secret("s", "a", withData("namespace", "another")) },
	"the authority is another": func(s tokenStage) { s.account("a"); s.secret("s", "a", withData("ca.crt", "another")) },
	"more data": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", withData("extra", "value"), withData("token", "mine"))
	},
	"labels and annotations": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", func(secret *corev1.Secret) {
			secret.Labels, secret.Annotations["mine"] = map[string]string{"mine": "yes"}, "yes"
		})
	},
	"immutable and filled": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a")
		s.filled("s")
		s.patch("s", `{"immutable":true}`)
	},
	"immutable and empty": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", func(secret *corev1.Secret) { secret.Immutable = new(true) })
		s.secret("r", "a")
		s.filled("r")
	},
	"immutable, and the account goes": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", func(secret *corev1.Secret) { secret.Immutable = new(true) })
		s.secret("r", "a")
		s.filled("r")
		s.deleteAccount("a")
		s.gone("r")
	},
	"of another type": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", func(secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque })
	},
	"held, and the account goes": func(s tokenStage) {
		s.account("a")
		s.secret("s", "a", holding)
		s.filled("s")
		s.deleteAccount("a")
		s.AwaitPart("secrets/s token:valid deleted")
	},
	"held and deleted": func(s tokenStage) {
		s.account("a", "s")
		s.secret("s", "a", holding)
		s.filled("s")
		s.deleteSecret("s")
	},
	"deleted with a reference": func(s tokenStage) {
		s.account("a", "s", "r", "s")
		s.account("b", "s")
		s.secret("s", "a")
		s.filled("s")
		s.deleteSecret("s")
	},
	"the account goes with a reference": func(s tokenStage) {
		s.account("a", "s")
		s.secret("s", "a")
		s.filled("s")
		s.deleteAccount("a")
		s.gone("s")
		s.account("a", "s")
	},
	"an ordinary secret with a reference": func(s tokenStage) {
		s.account("a", "s")
		s.secret("s", "a", func(secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque })
		s.deleteSecret("s")
	},
	"deleted and made anew with a reference": func(s tokenStage) {
		s.account("a", "s")
		s.secret("s", "a")
		s.filled("s")
		s.deleteSecret("s")
		s.secret("s", "a")
		s.filled("s")
	},
	"the account is held": func(s tokenStage) {
		s.account("a")
		s.must(s.holdAccount("a"))
		s.secret("s", "a")
		s.filled("s")
		s.deleteAccount("a")
		s.secret("r", "a")
		s.filled("r")
	},
	"an ending namespace": func(s tokenStage) {
		s.account("a")
		s.must(s.holdAccount("a"))
		s.secret("s", "a", holding)
		s.filled("s")
		s.must(s.CoreV1().Namespaces().Delete(s.T.Context(), s.Namespace, metav1.DeleteOptions{}))
		s.AwaitPart("secrets/s token:valid deleted")
	},
}

// holdAccount gives an account a finalizer, until the test is over.
func (s tokenStage) holdAccount(name string) error {
	accounts := s.CoreV1().ServiceAccounts(s.Namespace)
	_, err := accounts.Patch(s.T.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/held"]}}`), metav1.PatchOptions{})
	return err
}

// TestTokenSecretUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
// All fields of the secrets are compared but times, UIDs, revisions, and who owns the fields: what the controllers of kx write nobody
// owns.
func TestTokenSecretUpstream(t *testing.T) {
	t.Parallel()
	play := map[string]func(*controllertest.Stage){}
	for name, scene := range tokenScenes {
		play[name] = func(s *controllertest.Stage) { scene(tokenStage{s}) }
	}
	all := controllertest.Scenes{Answers: "tokensecret.json", Play: play, State: tokenState, Quiet: 8 * time.Second}
	all.Compare(t, ordinary.Clients)
}

func tokenState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	config := rest.CopyConfig(s.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		s.T.Fatal(err)
	}
	uids := map[string]string{"another": "another"}
	accounts, err := s.CoreV1().ServiceAccounts(s.Namespace).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, a := range accounts.Items {
		uids[string(a.UID)] = "that of " + a.Name
		if a.Name == "default" {
			continue
		}
		line := "serviceaccounts/" + a.Name + deletedMark(&a)
		for _, ref := range a.Secrets {
			line += " " + ref.Name
		}
		lines = append(lines, line)
	}
	secrets, err := s.CoreV1().Secrets(s.Namespace).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, secret := range secrets.Items {
		lines = append(lines, secretLine(s.T, &secret, uids, config.CAData))
	}
	return lines
}

// secretLine is a secret in words. uids says whose a UID is.
func secretLine(t *testing.T, secret *corev1.Secret, uids map[string]string, authority []byte) string {
	uid := secret.Annotations[corev1.ServiceAccountUIDKey]
	whose, ok := uids[uid]
	if uid != "" {
		if !ok {
			whose = "nobody's"
			uids[uid] = whose
		}
		secret.Annotations[corev1.ServiceAccountUIDKey] = whose
	}
	valid, texts := "no", map[string]string{}
	for key, value := range secret.Data {
		texts[key] = string(value)
	}
	if token := texts[corev1.ServiceAccountTokenKey]; strings.Count(token, ".") == 2 {
		said := tokenClaims(token)
		for uid, whose := range uids {
			said = strings.ReplaceAll(said, uid, whose)
		}
		valid, texts[corev1.ServiceAccountTokenKey] = "valid", said
	}
	if texts[corev1.ServiceAccountRootCAKey] == string(authority) {
		texts[corev1.ServiceAccountRootCAKey] = "the server's authority"
	}
	text, err := json.Marshal([]any{secret.Type, secret.Labels, secret.Annotations, secret.Finalizers, secret.Immutable, texts})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("secrets/%s token:%s%s %s", secret.Name, valid, deletedMark(secret), text)
}

func deletedMark(o metav1.Object) string {
	if o.GetDeletionTimestamp() != nil {
		return " deleted"
	}
	return ""
}

// tokenClaims is what a token says, with its header.
func tokenClaims(token string) string {
	var texts []string
	for _, part := range strings.Split(token, ".")[:2] {
		plain, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return err.Error()
		}
		object := map[string]any{}
		if err := json.Unmarshal(plain, &object); err != nil {
			return err.Error()
		}
		delete(object, "kid")
		delete(object, "alg") // the key's kind says it
		sorted, err := json.Marshal(object)
		if err != nil {
			return err.Error()
		}
		texts = append(texts, string(sorted))
	}
	return strings.Join(texts, " ")
}
