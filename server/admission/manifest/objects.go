package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kx-apiserver/kx/core/lines"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
	"github.com/kx-apiserver/kx/server/reload"
)

// MutatingWebhooks reads configurations of mutating webhooks.
func MutatingWebhooks(files []reload.File) ([]*registrationv1.MutatingWebhookConfiguration, error) {
	of := kindOf(admissionregistration.MutatingWebhookConfiguration, func(c *registrationv1.MutatingWebhookConfiguration) field.ErrorList {
		return eachClient(len(c.Webhooks), func(i int) *registrationv1.WebhookClientConfig { return &c.Webhooks[i].ClientConfig })
	})
	err := read(files, of)
	return of.sorted(), err
}

// ValidatingWebhooks reads configurations of validating webhooks.
func ValidatingWebhooks(files []reload.File) ([]*registrationv1.ValidatingWebhookConfiguration, error) {
	of := kindOf(admissionregistration.ValidatingWebhookConfiguration,
		func(c *registrationv1.ValidatingWebhookConfiguration) field.ErrorList {
			return eachClient(len(c.Webhooks), func(i int) *registrationv1.WebhookClientConfig { return &c.Webhooks[i].ClientConfig })
		})
	err := read(files, of)
	return of.sorted(), err
}

// MutatingPolicies reads mutating policies and their bindings.
func MutatingPolicies(
	files []reload.File,
) ([]*registrationv1.MutatingAdmissionPolicy, []*registrationv1.MutatingAdmissionPolicyBinding, error) {
	policies := kindOf(admissionregistration.MutatingAdmissionPolicy, func(p *registrationv1.MutatingAdmissionPolicy) field.ErrorList {
		return withoutParams(p.Spec.ParamKind)
	})
	bindings := kindOf(admissionregistration.MutatingAdmissionPolicyBinding,
		func(b *registrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
			return bound(b.Spec.PolicyName, b.Spec.ParamRef)
		})
	err := read(files, policies, bindings)
	if err == nil {
		err = bindings.refer(policies.files, func(b *registrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
	}
	return policies.sorted(), bindings.sorted(), err
}

// ValidatingPolicies reads validating policies and their bindings.
func ValidatingPolicies(
	files []reload.File,
) ([]*registrationv1.ValidatingAdmissionPolicy, []*registrationv1.ValidatingAdmissionPolicyBinding, error) {
	policies := kindOf(admissionregistration.ValidatingAdmissionPolicy, func(p *registrationv1.ValidatingAdmissionPolicy) field.ErrorList {
		return withoutParams(p.Spec.ParamKind)
	})
	bindings := kindOf(admissionregistration.ValidatingAdmissionPolicyBinding,
		func(b *registrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
			return bound(b.Spec.PolicyName, b.Spec.ParamRef)
		})
	err := read(files, policies, bindings)
	if err == nil {
		err = bindings.refer(policies.files, func(b *registrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
	}
	return policies.sorted(), bindings.sorted(), err
}

// eachClient refuses webhooks that name a service: a file may only name a URL.
func eachClient(n int, at func(i int) *registrationv1.WebhookClientConfig) (errs field.ErrorList) {
	for i := range n {
		path, client := field.NewPath("webhooks").Index(i).Child("clientConfig"), at(i)
		switch {
		case client.Service != nil:
			errs = append(errs,
				field.Forbidden(path.Child("service"),
					"clientConfig.service is not supported for static manifests; use clientConfig.url instead"))
		case client.URL == nil || *client.URL == "":
			errs = append(errs, field.Required(path.Child("url"), "clientConfig.url is required for static manifests"))
		}
	}
	return errs
}

func withoutParams(kind *registrationv1.ParamKind) field.ErrorList {
	if kind == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "paramKind"), "spec.paramKind is not supported for static manifests")}
}

func bound(policy string, params *registrationv1.ParamRef) (errs field.ErrorList) {
	if !strings.HasSuffix(policy, admissionregistration.ManifestSuffix) {
		errs = append(errs,
			field.Invalid(field.NewPath("spec", "policyName"), policy,
				fmt.Sprintf("spec.policyName must end with %q", admissionregistration.ManifestSuffix)))
	}
	if params != nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "paramRef"), "spec.paramRef is not supported for static manifests"))
	}
	return errs
}

// kind collects the objects of one kind.
type kind[T builtin.Object] struct {
	setDefaults func(T)
	validate    func(T) field.ErrorList
	// check refuses fields that the API accepts but a file may not have.
	check func(T) field.ErrorList
	all   []T
	// files maps each object's name to its file.
	files map[string]string
}

func kindOf[T builtin.Object](declared builtin.Resource[T], check func(T) field.ErrorList) *kind[T] {
	return &kind[T]{setDefaults: declared.Default, validate: declared.Validate, check: check, files: map[string]string{}}
}

// take adds an object, with its defaults. It reports whether the object is of the kind.
func (k *kind[T]) take(file string, obj runtime.Object, at lines.Document) (bool, error) {
	one, ok := obj.(T)
	if !ok {
		return false, nil
	}
	name := one.GetName()
	k.setDefaults(one)
	errs := admissionregistration.ValidateManifest(name, k.validate(one))
	if len(errs) == 0 {
		errs = k.check(one)
	}
	if before, there := k.files[name]; there {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, "it is in "+before+" already"))
	}
	if len(errs) > 0 {
		return true, fmt.Errorf("%s %q: %w", reflect.TypeFor[T]().Elem().Name(), name, at.Error(errs.ToAggregate()))
	}
	k.files[name] = file
	k.all = append(k.all, one)
	return true, nil
}

func (k *kind[T]) sorted() []T {
	slices.SortFunc(k.all, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return k.all
}

// refer returns an error for a binding whose policy is missing.
func (k *kind[T]) refer(policies map[string]string, policy func(T) string) error {
	for _, b := range k.all {
		if _, there := policies[policy(b)]; !there {
			return fmt.Errorf("%s: binding %q references policy %q which does not exist in the manifest directory", k.files[b.GetName()],
				b.GetName(), policy(b))
		}
	}
	return nil
}

// taker is a kind of any type.
type taker interface {
	take(file string, obj runtime.Object, at lines.Document) (bool, error)
}

// read decodes files and gives each object to its kind.
func read(files []reload.File, kinds ...taker) error {
	decoder, err := newDecoder()
	if err != nil {
		return err
	}
	r := &reader{decoder, kinds}
	for _, f := range files {
		rest, above := bytes.ReplaceAll(f.Data, []byte("\r\n"), []byte("\n")), 0
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rest)))
		for n := 1; ; n++ {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && len(bytes.TrimSpace(document)) > 0 {
				at := max(0, bytes.Index(rest, bytes.TrimRight(document, "\n")))
				above += bytes.Count(rest[:at], []byte("\n"))
				rest = rest[at:]
				err = r.document(f.Path, document, lines.NewDocument(document).Below(above))
			}
			if err != nil {
				return fmt.Errorf("%s: document %d: %w", f.Path, n, err)
			}
		}
	}
	return nil
}

type reader struct {
	runtime.Decoder
	kinds []taker
}

func newDecoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := registrationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypes(schema.GroupVersion{Version: "v1"}, &metav1.List{})
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), nil
}

// document adds the object of a document, or each object of a list.
func (r *reader) document(file string, document []byte, at lines.Document) error {
	obj, _, err := r.Decode(document, nil, nil)
	if err != nil {
		return at.Error(err)
	}
	list, ok := obj.(*metav1.List)
	itemAt := func(i int) lines.Document { return at.In(fmt.Sprintf("items[%d]", i)) }
	if !ok && meta.IsListType(obj) {
		i := -1
		return meta.EachListItem(obj, func(item runtime.Object) error {
			i++
			return r.object(file, item, itemAt(i))
		})
	}
	if !ok {
		return r.object(file, obj, at)
	}
	for i := range list.Items {
		item, _, err := r.Decode(list.Items[i].Raw, nil, nil)
		if err == nil {
			err = r.object(file, item, itemAt(i))
		} else {
			err = itemAt(i).Error(err)
		}
		if err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}

func (r *reader) object(file string, obj runtime.Object, at lines.Document) error {
	for _, k := range r.kinds {
		if taken, err := k.take(file, obj, at); taken {
			return err
		}
	}
	return fmt.Errorf("%skind: a %s does not belong into this directory", at.At("kind"), reflect.TypeOf(obj).Elem().Name())
}
