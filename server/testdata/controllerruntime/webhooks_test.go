package controllerruntime

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The names of the webhooks, as refusals have them.
const (
	defaulting = "default.letters.example.dev"
	validating = "validate.letters.example.dev"
)

var secondVersion = schema.GroupVersion{Group: groupVersion.Group, Version: "v2"}

// Letter is a letter in v1, the version that is stored. It is the hub: the other version is converted to it and from it.
type Letter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LetterSpec `json:"spec,omitempty"`
}

// LetterSpec has the receiver in one field.
type LetterSpec struct {
	// To is a name, or a name and a town: "Ada, Bern".
	To    string `json:"to,omitempty"`
	Stamp string `json:"stamp,omitempty"`
}

// LetterList is a list of letters in v1.
type LetterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Letter `json:"items"`
}

// LetterV2 is a letter in v2.
type LetterV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LetterV2Spec `json:"spec,omitempty"`
}

// LetterV2Spec has the receiver in two fields.
type LetterV2Spec struct {
	Name  string `json:"name,omitempty"`
	Town  string `json:"town,omitempty"`
	Stamp string `json:"stamp,omitempty"`
}

// LetterV2List is a list of letters in v2.
type LetterV2List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LetterV2 `json:"items"`
}

// Hub makes v1 the hub.
func (*Letter) Hub() {}

// ConvertTo makes a letter in v1 of one in v2. A comma in a name would be taken for the end of the name.
func (l *LetterV2) ConvertTo(hub conversion.Hub) error {
	out := hub.(*Letter)
	if strings.Contains(l.Spec.Name, ",") {
		return fmt.Errorf("the name %q has a comma", l.Spec.Name)
	}
	l.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec = LetterSpec{To: l.Spec.Name, Stamp: l.Spec.Stamp}
	if l.Spec.Town != "" {
		out.Spec.To += ", " + l.Spec.Town
	}
	return nil
}

// ConvertFrom makes a letter in v2 of one in v1.
func (l *LetterV2) ConvertFrom(hub conversion.Hub) error {
	in := hub.(*Letter)
	in.ObjectMeta.DeepCopyInto(&l.ObjectMeta)
	l.Spec = LetterV2Spec{Stamp: in.Spec.Stamp}
	l.Spec.Name, l.Spec.Town, _ = strings.Cut(in.Spec.To, ", ")
	return nil
}

// DeepCopyObject makes a Letter a runtime.Object.
func (l *Letter) DeepCopyObject() runtime.Object { return l.DeepCopy() }

// DeepCopy shares nothing with l.
func (l *Letter) DeepCopy() *Letter {
	out := *l
	l.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject makes a LetterV2 a runtime.Object.
func (l *LetterV2) DeepCopyObject() runtime.Object { return l.DeepCopy() }

// DeepCopy shares nothing with l.
func (l *LetterV2) DeepCopy() *LetterV2 {
	out := *l
	l.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject makes a LetterList a runtime.Object.
func (l *LetterList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}

// DeepCopyObject makes a LetterV2List a runtime.Object.
func (l *LetterV2List) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}

// lettersScheme has letters in both versions beside what scheme has.
func lettersScheme() *runtime.Scheme {
	s := scheme()
	s.AddKnownTypes(groupVersion, &Letter{}, &LetterList{})
	s.AddKnownTypeWithName(secondVersion.WithKind("Letter"), &LetterV2{})
	s.AddKnownTypeWithName(secondVersion.WithKind("LetterList"), &LetterV2List{})
	metav1.AddToGroupVersion(s, secondVersion)
	return s
}

func letter(name, to string) *Letter {
	return &Letter{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: LetterSpec{To: to}}
}

func letterV2(name, receiver, town string) *LetterV2 {
	return &LetterV2{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: LetterV2Spec{Name: receiver, Town: town}}
}

// postOffice is what the webhooks do with letters. They see v1 only.
type postOffice struct{}

// Default puts a stamp on a letter that has none.
func (postOffice) Default(_ context.Context, l *Letter) error {
	if l.Spec.Stamp == "" {
		l.Spec.Stamp = "B"
	}
	return nil
}

// ValidateCreate refuses a letter to nobody.
func (postOffice) ValidateCreate(_ context.Context, l *Letter) (admission.Warnings, error) {
	if l.Spec.To == "" {
		return nil, errors.New("a letter goes to somebody")
	}
	return noTown(l), nil
}

// ValidateUpdate refuses another receiver, with the Status of an invalid object.
func (postOffice) ValidateUpdate(_ context.Context, before, l *Letter) (admission.Warnings, error) {
	if before.Spec.To != l.Spec.To {
		return admission.Warnings{"it was " + before.Spec.To}, apierrors.NewInvalid(groupVersion.WithKind("Letter").GroupKind(), l.Name,
			field.ErrorList{field.Invalid(field.NewPath("spec", "to"), l.Spec.To, "the letter is sent")})
	}
	return noTown(l), nil
}

// ValidateDelete refuses to lose a registered letter.
func (postOffice) ValidateDelete(_ context.Context, l *Letter) (admission.Warnings, error) {
	if l.Spec.Stamp == "registered" {
		return nil, errors.New("a registered letter is kept")
	}
	return noTown(l), nil
}

func noTown(l *Letter) admission.Warnings {
	if strings.Contains(l.Spec.To, ", ") {
		return nil
	}
	return admission.Warnings{"where is " + l.Spec.To + "?", "the post office guesses"}
}

// warnings are those that a client got.
type warnings struct {
	mu  sync.Mutex
	got []string
}

// HandleWarningHeaderWithContext is what a client calls with each warning.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, fmt.Sprintf("%d %s", code, text))
}

// take returns the warnings since it was called last.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.got = nil }()
	return strings.Join(w.got, ", ")
}

// post is a server that asks the webhooks of a manager about letters.
type post struct {
	*testing.T
	client.Client
	ctx      context.Context
	warnings *warnings
	// base is the URL of the manager's webhooks, and ca who has signed their certificate.
	base string
	ca   []byte
	// cached is the manager's client, which reads from its cache.
	cached client.Client
	// stop ends the manager.
	stop func()
}

// TestWebhooks has a manager whose webhooks give defaults to letters, refuse some, and convert all of them.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p *process, config *rest.Config) {
		w := &post{T: t, ctx: within(t), warnings: &warnings{}}
		config.WarningHandlerWithContext = w.warnings
		c, err := client.New(config, client.Options{Scheme: lettersScheme()})
		must(t, err)
		w.Client = c
		w.manage(config)
		w.install()
		w.admit()
		w.convert()

		// A server that begins asks them about its first write.
		p.kill()
		p.start()
		w.refuses(w.Create(w.ctx, letter("nobody", "")), metav1.StatusReasonForbidden, validating, "a letter goes to somebody")
		w.lists("a Ada/Bern/B, b Bob/Rome/A, c Cleo//B")

		// Without its webhooks a server can neither write letters nor convert them.
		w.stop()
		if err := w.Create(w.ctx, letter("d", "Dora, Kyiv")); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "`+defaulting+`"`) {
			t.Errorf("create without webhooks: %v", err)
		}
		if err := w.Get(w.ctx, key("a"), &LetterV2{}); err == nil || !strings.Contains(err.Error(), "conversion webhook for example.dev/v1, Kind=Letter failed") {
			t.Errorf("get in v2 without webhooks: %v", err)
		}
		must(t, w.Get(w.ctx, key("a"), &Letter{}))
	})
}

// manage starts a manager with the webhooks, which ends with the test or before.
func (w *post) manage(config *rest.Config) {
	w.Helper()
	address, dir := freeAddress(w.T), w.TempDir()
	host, port, err := net.SplitHostPort(address)
	must(w.T, err)
	number, err := strconv.Atoi(port)
	must(w.T, err)
	w.base, w.ca = "https://"+address, certificate(w.T, dir, net.ParseIP(host))
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: lettersScheme(), Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: host, Port: number, CertDir: dir}),
	})
	must(w.T, err)
	must(w.T, ctrl.NewWebhookManagedBy(m, &Letter{}).WithDefaulter(postOffice{}).WithValidator(postOffice{}).Complete())
	w.cached = m.GetClient()

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Start(ctx); err != nil {
			w.Error(err)
		}
	})
	w.stop = func() {
		cancel()
		running.Wait()
	}
	w.Cleanup(w.stop)
	until(w.T, "the webhooks are served", func() bool { return m.GetWebhookServer().StartedChecker()(nil) == nil })
}

// certificate writes a key, and a certificate for an address that it signs itself, to where a webhook server looks for them.
func certificate(t *testing.T, dir string, ip net.IP) []byte {
	t.Helper()
	keyPEM := newKey(t)
	block, _ := pem.Decode(keyPEM)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "post office"}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public().(*ecdsa.PublicKey), key)
	must(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, os.WriteFile(filepath.Join(dir, "tls.key"), keyPEM, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "tls.crt"), certPEM, 0o600))
	return certPEM
}

// install tells the server of letters and of the webhooks, and waits until it asks them.
func (w *post) install() {
	w.Helper()
	must(w.T, w.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(w.T, w.Create(w.ctx, w.definition()))
	must(w.T, w.Create(w.ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "letters"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: defaulting, ClientConfig: w.at("/mutate-example-dev-v1-letter"), Rules: rules(admissionregistrationv1.Create, admissionregistrationv1.Update),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}))
	must(w.T, w.Create(w.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "letters"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: validating, ClientConfig: w.at("/validate-example-dev-v1-letter"),
			Rules:       rules(admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}))
	var last error
	defer func() {
		if w.Failed() {
			w.Logf("at last: %v", last)
		}
	}()
	until(w.T, "both webhooks are asked, and both versions served", func() bool {
		l := letter("probe", "Eve")
		if last = w.Create(w.ctx, l, client.DryRunAll); last != nil || l.Spec.Stamp != "B" || w.warnings.take() == "" {
			return false
		}
		last = w.List(w.ctx, &LetterV2List{})
		return last == nil
	})
	w.warnings.take()
}

func (w *post) at(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: new(w.base + path), CABundle: w.ca}
}

// rules are about v1 only: a server converts letters in v2 before it asks.
func rules(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{groupVersion.Group}, APIVersions: []string{groupVersion.Version}, Resources: []string{"letters"}},
	}}
}

// definition is the CRD of letters.
func (w *post) definition() *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, stored bool, fields ...string) apiextensionsv1.CustomResourceDefinitionVersion {
		spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for _, name := range fields {
			spec.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: stored,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
			}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "letters." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "letters", Singular: "letter", Kind: "Letter", ListKind: "LetterList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version(groupVersion.Version, true, "to", "stamp"), version(secondVersion.Version, false, "name", "town", "stamp"),
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new(w.base + "/convert"), CABundle: w.ca},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
	}
}

// admit has the webhooks asked in v1 about all that can happen to letters.
func (w *post) admit() {
	l := letter("a", "Ada, Bern")
	must(w.T, w.Create(w.ctx, l))
	w.warns("")
	must(w.T, w.Get(w.ctx, key("a"), l))
	if want := (LetterSpec{To: "Ada, Bern", Stamp: "B"}); l.Spec != want {
		w.Errorf("created: %+v, want %+v", l.Spec, want)
	}
	w.refuses(w.Create(w.ctx, letter("nobody", "")), metav1.StatusReasonForbidden, validating, "a letter goes to somebody")
	w.warns("")
	if err := w.Get(w.ctx, key("nobody"), &Letter{}); !apierrors.IsNotFound(err) {
		w.Errorf("a letter that was refused: %v", err)
	}

	// Who clears the stamp gets it again; who sets it has it.
	l.Spec.Stamp = ""
	must(w.T, w.Update(w.ctx, l))
	if l.Spec.Stamp != "B" {
		w.Errorf("updated without a stamp: %+v", l.Spec)
	}
	l.Spec.Stamp = "registered"
	must(w.T, w.Update(w.ctx, l))

	l.Spec.To = "Ada"
	err := w.Update(w.ctx, l)
	w.refuses(err, metav1.StatusReasonInvalid, validating, `Letter.example.dev "a" is invalid: spec.to: Invalid value: "Ada": the letter is sent`)
	if cause, ok := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); !ok || cause.Field != "spec.to" {
		w.Errorf("the cause of %v: %+v", err, cause)
	}
	w.warns("299 it was Ada, Bern")

	// A delete in v2 is one of the letter in v1 to them.
	w.refuses(w.Delete(w.ctx, letterV2("a", "", "")), metav1.StatusReasonForbidden, validating, "a registered letter is kept")
	must(w.T, w.Get(w.ctx, key("a"), l))
	if want := (LetterSpec{To: "Ada, Bern", Stamp: "registered"}); l.Spec != want {
		w.Errorf("after refusals: %+v, want %+v", l.Spec, want)
	}
	l.Spec.Stamp = "B"
	must(w.T, w.Update(w.ctx, l))
	w.warns("")

	const guess = "299 where is Finn?, 299 the post office guesses"
	f := letter("f", "Finn")
	must(w.T, w.Create(w.ctx, f))
	w.warns(guess)
	must(w.T, w.Delete(w.ctx, f))
	w.warns(guess)
	if err := w.Get(w.ctx, key("f"), f); !apierrors.IsNotFound(err) {
		w.Errorf("a letter that was deleted: %v", err)
	}
}

// convert reads and writes letters in the version in which they were not created.
func (w *post) convert() {
	v1, v2 := &Letter{}, &LetterV2{}
	must(w.T, w.Get(w.ctx, key("a"), v1))
	must(w.T, w.Get(w.ctx, key("a"), v2))
	if want := (LetterV2Spec{Name: "Ada", Town: "Bern", Stamp: "B"}); v2.Spec != want {
		w.Errorf("v1 in v2: %+v, want %+v", v2.Spec, want)
	}
	if v1.UID == "" || v1.UID != v2.UID || v1.ResourceVersion != v2.ResourceVersion {
		w.Errorf("v1 is %+v, v2 is %+v", v1.ObjectMeta, v2.ObjectMeta)
	}

	// The default of v1 comes back in v2.
	b := letterV2("b", "Bob", "Rome")
	must(w.T, w.Create(w.ctx, b))
	if want := (LetterV2Spec{Name: "Bob", Town: "Rome", Stamp: "B"}); b.Spec != want {
		w.Errorf("created in v2: %+v, want %+v", b.Spec, want)
	}
	b.Spec.Stamp = "A"
	must(w.T, w.Update(w.ctx, b))
	must(w.T, w.Get(w.ctx, key("b"), v1))
	if want := (LetterSpec{To: "Bob, Rome", Stamp: "A"}); v1.Spec != want {
		w.Errorf("v2 in v1: %+v, want %+v", v1.Spec, want)
	}
	b.Spec.Town = "Oslo"
	w.refuses(w.Update(w.ctx, b), metav1.StatusReasonInvalid, validating, `Letter.example.dev "b" is invalid: spec.to: Invalid value: "Bob, Oslo": the letter is sent`)
	w.warns("299 it was Bob, Rome")
	if err := w.Create(w.ctx, letterV2("comma", "Ada, Countess", "Bern")); err == nil || !strings.Contains(err.Error(), `the name "Ada, Countess" has a comma`) {
		w.Errorf("create what v1 can't say: %v", err)
	}

	w.lists("a Ada/Bern/B, b Bob/Rome/A")
	until(w.T, "the manager's cache has the letters in v2", func() bool { return w.v2(w.cached) == "a Ada/Bern/B, b Bob/Rome/A" })
	must(w.T, w.Create(w.ctx, letter("c", "Cleo")))
	until(w.T, "the cache follows in v2", func() bool { return w.v2(w.cached) == "a Ada/Bern/B, b Bob/Rome/A, c Cleo//B" })
}

// refuses checks an error: its reason, and its message as that of a webhook.
func (w *post) refuses(err error, reason metav1.StatusReason, name, message string) {
	w.Helper()
	want := fmt.Sprintf("admission webhook %q denied the request: %s", name, message)
	if err == nil || err.Error() != want || apierrors.ReasonForError(err) != reason {
		w.Errorf("refused with %q: %v, want %q: %s", apierrors.ReasonForError(err), err, reason, want)
	}
}

// warns checks the warnings of the requests since it was called last.
func (w *post) warns(want string) {
	w.Helper()
	if got := w.warnings.take(); got != want {
		w.Errorf("warnings: %q, want %q", got, want)
	}
}

// lists checks all letters in v2.
func (w *post) lists(want string) {
	w.Helper()
	if got := w.v2(w.Client); got != want {
		w.Errorf("letters: %q, want %q", got, want)
	}
}

// v2 are all letters in v2 that a client sees, as name, receiver, town and stamp.
func (w *post) v2(c client.Client) string {
	w.Helper()
	list := &LetterV2List{}
	must(w.T, c.List(w.ctx, list, client.InNamespace(namespace)))
	var letters []string
	for _, l := range list.Items {
		letters = append(letters, fmt.Sprintf("%s %s/%s/%s", l.Name, l.Spec.Name, l.Spec.Town, l.Spec.Stamp))
	}
	slices.Sort(letters)
	return strings.Join(letters, ", ")
}
