package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	trackingMap  = "kube-apiserver-legacy-service-account-token-tracking"
	lastUsed     = "kubernetes.io/legacy-token-last-used"
	invalidSince = "kubernetes.io/legacy-token-invalid-since"
)

type legacyTokenStage struct{ *controllertest.Stage }

func (s legacyTokenStage) must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

func (s legacyTokenStage) put(key, value string) {
	s.T.Helper()
	_, err := s.Etcd.Put(s.T.Context(), "/registry/"+key, value)
	s.must(err)
}

// account stores an account that lists secrets.
func (s legacyTokenStage) account(secrets ...string) {
	s.T.Helper()
	list := ""
	for _, name := range secrets {
		list += fmt.Sprintf(`,{"name":%q}`, name)
	}
	s.put("serviceaccounts/"+s.Namespace+"/robot", fmt.Sprintf(`{"apiVersion":"v1","kind":"ServiceAccount",
		"metadata":{"name":"robot","namespace":%q,"uid":"robots","creationTimestamp":"2020-01-01T00:00:00Z"},"secrets":[%s]}`, s.Namespace, strings.TrimPrefix(list, ",")))
}

// secret stores a secret with a token of the account, and with labels.
func (s legacyTokenStage) secret(name, created string, labels ...string) {
	s.T.Helper()
	list := ""
	for i := 0; i < len(labels); i += 2 {
		list += fmt.Sprintf(`,%q:%q`, labels[i], labels[i+1])
	}
	s.put("secrets/"+s.Namespace+"/"+name, fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token",
		"metadata":{"name":%q,"namespace":%q,"uid":%q,"creationTimestamp":%q,"labels":{%s},
			"annotations":{"kubernetes.io/service-account.name":"robot","kubernetes.io/service-account.uid":"robots"}},
		"data":{"token":"dA==","ca.crt":"Yw==","namespace":"bg=="}}`, name, s.Namespace, name, created, strings.TrimPrefix(list, ",")))
}

func (s legacyTokenStage) pod(spec corev1.PodSpec) {
	s.T.Helper()
	spec.Containers = []corev1.Container{{Name: "c", Image: "i", EnvFrom: spec.Containers[0].EnvFrom}}
	spec.AutomountServiceAccountToken = new(false)
	_, err := s.CoreV1().Pods(s.Namespace).Create(s.T.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: spec}, metav1.CreateOptions{})
	s.must(err)
}

// watchSeconds is how long a watch lasts at most.
var watchSeconds = new(int64(controllertest.Patience.Seconds()))

const oldDate, youngDate = "2021-01-01T00:00:00Z", "2099-01-01T00:00:00Z"

func daysAgo(n int) string { return time.Now().UTC().AddDate(0, 0, -n).Format(time.DateOnly) }

// legacyTokenScenes have secrets of one account.
var legacyTokenScenes = map[string]func(s legacyTokenStage){
	"unused": func(s legacyTokenStage) {
		s.account("never", "longago", "nonsense")
		s.secret("never", oldDate)
		s.secret("longago", oldDate, lastUsed, "2022-01-01")
		s.secret("nonsense", oldDate, lastUsed, "2022-13-13")
	},
	"used": func(s legacyTokenStage) {
		s.account("lately", "barely", "over", "future", "young")
		s.secret("lately", oldDate, lastUsed, daysAgo(1))
		s.secret("barely", oldDate, lastUsed, daysAgo(364))
		s.secret("over", oldDate, lastUsed, daysAgo(367))
		s.secret("future", oldDate, lastUsed, "2099-01-01")
		s.secret("young", youngDate)
	},
	"asked for": func(s legacyTokenStage) {
		s.account()
		s.secret("mine", oldDate)
	},
	"invalid": func(s legacyTokenStage) {
		s.account("long", "lately", "nonsense")
		s.secret("long", oldDate, invalidSince, "2022-01-01")
		s.secret("lately", oldDate, invalidSince, daysAgo(20))
		s.secret("nonsense", oldDate, invalidSince, "soon")
	},
	"invalid and used": func(s legacyTokenStage) {
		s.account("a")
		s.secret("a", oldDate, invalidSince, "2022-01-01", lastUsed, daysAgo(3))
	},
	"in pods": func(s legacyTokenStage) {
		s.account("volume", "projected", "pull", "env", "csi", "other")
		local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
		s.pod(corev1.PodSpec{
			Containers:       []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local("env")}}}}},
			ImagePullSecrets: []corev1.LocalObjectReference{local("pull")},
			Volumes: []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "volume"}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: local("projected")}}},
				}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d.example.com", NodePublishSecretRef: new(local("csi"))}}},
			},
		})
		for _, name := range []string{"volume", "projected", "pull", "env", "csi", "other"} {
			s.secret(name, oldDate, invalidSince, "2022-01-01")
		}
	},
}

func legacyTokenState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	list, err := s.CoreV1().Secrets(s.Namespace).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for _, secret := range list.Items {
		label := secret.Labels[invalidSince]
		switch label {
		case today:
			label = "today"
		case daysAgo(20):
			label = "20 days ago"
		}
		lines = append(lines, fmt.Sprintf("%s invalid since %q", secret.Name, label))
	}
	return lines
}

func serveLegacyTokens(t *testing.T, dir string, controllers ...string) (controllertest.Clients, func()) {
	t.Helper()
	o := options.New()
	o.Controllers = append(controller.Selection{controller.Namespace, controller.ServiceAccounts}, controllers...)
	return controllertest.Serve(t, o, dir)
}

// TestLegacyTokenUpstream plays scenes, and waits for what is left of each with a kube-controller-manager v1.37.1 that starts after them.
// There the config map says that tokens have been tracked for years.
func TestLegacyTokenUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "legacytoken.json", Play: map[string]func(*controllertest.Stage){}, State: legacyTokenState, Quiet: 90 * time.Second,
	}
	for name, play := range legacyTokenScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(legacyTokenStage{s}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		c, _ := serveLegacyTokens(t, "", "legacy-serviceaccount-token-cleaner-controller")
		trackSince(t, c, "2020-01-01")
		return c
	})
}

// trackSince says since when tokens have been tracked.
func trackSince(t *testing.T, c controllertest.Clients, since string) {
	t.Helper()
	maps := c.CoreV1().ConfigMaps("kube-system")
	w, err := maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + trackingMap, TimeoutSeconds: watchSeconds})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		is, ok := event.Object.(*corev1.ConfigMap)
		if !ok || is.Data["since"] != time.Now().UTC().Format(time.DateOnly) {
			continue
		}
		is.Data["since"] = since
		if _, err := maps.Update(t.Context(), is, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("the watch ended")
}

// TestLegacyTokenTracked: nothing is retired that may have been used before somebody wrote it down. The config map gets a day where it has
// none.
func TestLegacyTokenTracked(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, stop := serveLegacyTokens(t, dir, "legacy-serviceaccount-token-cleaner-controller")
	s := legacyTokenStage{(&controllertest.Scenes{State: legacyTokenState}).Stage(t, c, "default")}
	s.account("never", "later")
	s.secret("never", oldDate)
	trackSince(t, c, "nonsense")
	s.AwaitPart(`never invalid since ""`)
	trackSince(t, c, "2020-01-01")
	s.secret("later", oldDate)
	s.AwaitPart(`later invalid since "today"`)
	stop()
	c, _ = serveLegacyTokens(t, dir, "legacy-serviceaccount-token-cleaner-controller")
	s = legacyTokenStage{(&controllertest.Scenes{State: legacyTokenState}).Stage(t, c, "default")}
	s.AwaitPart(`never invalid since "today"`)
}

// TestLegacyTokenUsed: a token that authenticates is marked once a day, also if it is refused because it was retired.
func TestLegacyTokenUsed(t *testing.T) {
	t.Parallel()
	c, _ := serveLegacyTokens(t, "", "serviceaccount-token-controller")
	w, err := c.CoreV1().ServiceAccounts("default").Watch(t.Context(), metav1.ListOptions{})
	controllertest.Await(t, w, err, "default")
	secrets := c.CoreV1().Secrets("default")
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if _, err := secrets.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	filled := awaitMine(t, c, func(s *corev1.Secret) bool { return len(s.Data[corev1.ServiceAccountTokenKey]) > 0 })
	// The account may do nothing: who is believed is forbidden to.
	isBelieved := func() bool {
		t.Helper()
		config := rest.AnonymousClientConfig(c.Config)
		config.BearerToken = string(filled.Data[corev1.ServiceAccountTokenKey])
		robot, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = robot.CoreV1().Secrets("default").Get(t.Context(), "mine", metav1.GetOptions{})
		if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
			t.Fatal(err)
		}
		return apierrors.IsForbidden(err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	if !isBelieved() {
		t.Fatal("the token is not believed")
	}
	used := awaitMine(t, c, func(s *corev1.Secret) bool { return s.Labels[lastUsed] >= today })
	used.Labels = map[string]string{lastUsed: "2022-01-01", invalidSince: "2024-01-01"}
	if _, err := secrets.Update(t.Context(), used, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// A token is believed for some seconds.
	eventually(t, "the token is no longer believed", func() bool { return !isBelieved() })
	awaitMine(t, c, func(s *corev1.Secret) bool {
		return s.Labels[lastUsed] >= today && s.Labels[invalidSince] == "2024-01-01"
	})
}

// awaitMine waits until the secret is as it should be.
func awaitMine(t *testing.T, c controllertest.Clients, right func(*corev1.Secret) bool) *corev1.Secret {
	t.Helper()
	w, err := c.CoreV1().Secrets("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=mine", TimeoutSeconds: watchSeconds})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if s, ok := event.Object.(*corev1.Secret); ok && right(s) {
			return s
		}
	}
	t.Fatal("the watch ended")
	return nil
}
