package registry

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// maxNameGenerationCreateAttempts limits the generated names that one create tries. With 27^5 endings, eight of them
// make a failure unlikely (0.1 %) for a prefix that a million objects have already.
const maxNameGenerationCreateAttempts = 8

var (
	nameChosen    = trace.Because("name-chosen", "the client chose the name", "名称由客户端指定")
	nameGenerated = trace.Because("name-generated", "the name was generated", "名称由服务端生成")
	nameTaken     = trace.Because("name-taken",
		"attempt {attempt}: the name that was generated before was taken",
		"第 {attempt} 次尝试：之前生成的名称已被占用")
)

// Create stores a new object. It may change obj.
func (e *Store) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	if m.GetGenerateName() == "" || m.GetName() != "" {
		return e.create(ctx, obj, m, naming{why: nameChosen}, createValidation, options)
	}
	for attempt := 1; ; attempt++ {
		named := obj.DeepCopyObject()
		namedMeta, err := meta.Accessor(named)
		if err != nil {
			return nil, err
		}
		namedMeta.SetName(e.CreateStrategy.GenerateName(m.GetGenerateName()))
		from := naming{why: nameGenerated}
		if attempt > 1 {
			from = naming{why: nameTaken, attempt: int64(attempt)}
		}
		out, err := e.create(ctx, named, namedMeta, from, createValidation, options)
		if err == nil || !apierrors.IsAlreadyExists(err) || attempt == maxNameGenerationCreateAttempts {
			return out, err
		}
	}
}

// naming is where an object's name comes from, and at which attempt if the names before it were taken.
type naming struct {
	why     trace.Reason
	attempt int64
}

// create stores obj, with metadata m, under its name.
func (e *Store) create(ctx context.Context, obj runtime.Object, m metav1.Object, named naming,
	createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (_ runtime.Object, err error) {
	// The key is known for certain only after validation, which has better words for a missing name than KeyFunc.
	ctx, step := trace.Start(ctx, steps.StoreCreate, e.KeyRootFunc(ctx)+"/"+m.GetName())
	defer step.End(&err)
	step.Why(named.why, named.attempt)
	e.note(step)
	encoded := e.AfterCreate == nil && e.keepsEncoded() && !isDryRun(options.DryRun)

	rest.WipeObjectMetaSystemFields(m)
	rest.FillObjectMetaSystemFields(m)
	finish, err := e.beginCreate(ctx, obj, options)
	if err != nil {
		return nil, err
	}
	defer finish(ctx, false)

	if err := BeforeCreate(ctx, e.CreateStrategy, obj); err != nil {
		return nil, err
	}
	if createValidation != nil {
		if err := createValidation(ctx, obj); err != nil {
			return nil, err
		}
	}
	key, err := e.KeyFunc(ctx, m.GetName())
	if err != nil {
		return nil, err
	}
	ttl, err := e.calculateTTL(obj, 0, false)
	if err != nil {
		return nil, err
	}
	var out runtime.Object
	if !encoded {
		out = e.NewFunc()
	}
	stored, err := e.Storage.Create(ctx, key, obj, out, ttl, isDryRun(options.DryRun))
	if err != nil {
		return nil, e.interpretCreate(ctx, err, key, m.GetName(), obj)
	}
	finish(ctx, true)
	if encoded {
		return stored, nil
	}
	if e.AfterCreate != nil {
		after(ctx, "AfterCreate", func() { e.AfterCreate(out, options) })
	}
	e.decorate(ctx, out)
	return out, nil
}

// interpretCreate turns an error of the storage into an API error. If the existing object is only waiting for its
// finalizers, the error says so: then the client can simply wait.
func (e *Store) interpretCreate(ctx context.Context, err error, key, name string, obj runtime.Object) error {
	err = checkGeneratedNameError(ctx, e.CreateStrategy, InterpretCreateError(ctx, err, e.qualifiedResourceFromContext(ctx), name), obj)
	var status *apierrors.StatusError
	if !apierrors.IsAlreadyExists(err) || !errors.As(err, &status) {
		return err
	}
	existing := e.NewFunc()
	if _, getErr := e.Storage.Get(ctx, key, store.GetOptions{}, existing); getErr != nil {
		return err
	}
	if m, accessErr := meta.Accessor(existing); accessErr == nil && m.GetDeletionTimestamp() != nil {
		status.ErrStatus.Message = "object is being deleted: " + status.ErrStatus.Message
	}
	return err
}

// checkGeneratedNameError asks a client to try again if its generated name was taken: the client did nothing wrong.
func checkGeneratedNameError(ctx context.Context, strategy rest.RESTCreateStrategy, err error, obj runtime.Object) error {
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	m, kind, metaErr := objectMetaAndKind(strategy, obj)
	if metaErr != nil {
		return metaErr
	}
	if m.GetGenerateName() == "" {
		return err
	}
	var resource schema.GroupResource
	if info, ok := request.RequestInfoFrom(ctx); ok {
		resource = schema.GroupResource{Group: kind.Group, Resource: info.Resource}
	}
	return apierrors.NewGenerateNameConflict(resource, m.GetName(), 1)
}

var metadataPath = field.NewPath("metadata")

var (
	fieldsInvalid = trace.Because("fields-invalid",
		"refused; field errors: {errors}",
		"拒绝，字段错误 {errors} 个")
	whyValid = trace.Because("valid", "valid, in the form that is stored", "校验通过（按存储的形式）")
)

// BeforeCreate prepares obj for storage and validates it. Its name and system fields are set already.
func BeforeCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object) (err error) {
	m, kind, err := objectMetaAndKind(strategy, obj)
	if err != nil {
		return err
	}
	ctx, step := trace.StartObject(ctx, steps.StoreBeforeCreate, kind.Kind+" "+m.GetName(), obj)
	defer step.End(&err)

	if !metav1.HasObjectMetaSystemFieldValues(m) {
		return apierrors.NewInternalError(errors.New("system metadata was not initialized"))
	}
	if m.GetGenerateName() != "" && m.GetName() == "" {
		return apierrors.NewInternalError(errors.New("metadata.name was not generated"))
	}
	if err := ensureNamespace(ctx, strategy.NamespaceScoped(), m); err != nil {
		return err
	}
	prepare(ctx, strategy, obj, func(ctx context.Context) { strategy.PrepareForCreate(ctx, obj) })
	if errs := validateCreate(ctx, strategy, obj, m); len(errs) > 0 {
		step.Why(fieldsInvalid, int64(len(errs)))
		return invalid(ctx, kind.GroupKind(), m.GetName(), errs)
	}
	warn(ctx, strategy.WarningsOnCreate(ctx, obj))
	strategy.Canonicalize(obj)

	step.Why(whyValid)
	step.After(obj)
	return nil
}

// prepare calls do, by which the strategy changes obj, as a step.
func prepare(ctx context.Context, strategy any, obj runtime.Object, do func(context.Context)) {
	ctx, step := trace.Start(ctx, steps.StorePrepare, strategyName(strategy))
	defer step.End(nil)
	step.Before(obj)
	do(ctx)
	step.After(obj)
}

// strategyName returns the strategy's own name if it has one, otherwise its Go type.
func strategyName(strategy any) string {
	if named, ok := strategy.(fmt.Stringer); ok {
		return named.String()
	}
	return reflect.TypeOf(strategy).String()
}

// validateCreate checks the metadata only if the strategy has no complaint, since the strategy's are more specific.
func validateCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object, m metav1.Object) field.ErrorList {
	if errs := strategy.Validate(ctx, obj); len(errs) > 0 {
		return arrange(strategy, errs)
	}
	return validation.ValidateObjectMetaAccessor(validatedMetadata(m), strategy.NamespaceScoped(), validatePathSegment, metadataPath)
}

// validatedMetadata returns the part of metadata that validation looks at.
func validatedMetadata(m metav1.Object) metav1.Object {
	u, ok := m.(*unstructured.Unstructured)
	if !ok {
		return m
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	return &unstructured.Unstructured{Object: map[string]any{"metadata": object.WithoutFieldSets(metadata)}}
}

// validatePathSegment is the rule for all names: each is one segment of a path.
func validatePathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// ensureNamespace gives the object the namespace of the request, or none, by its resource's scope.
func ensureNamespace(ctx context.Context, namespaceScoped bool, m metav1.Object) error {
	ns, ok := request.NamespaceFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("no namespace information found in request context"))
	}
	return rest.EnsureObjectNamespaceMatchesRequestNamespace(rest.ExpectedNamespaceForScope(ns, namespaceScoped), m)
}

func warn(ctx context.Context, warnings []string) {
	for _, w := range warnings {
		warning.AddWarning(ctx, "", w)
	}
}

func objectMetaAndKind(typer runtime.ObjectTyper, obj runtime.Object) (metav1.Object, schema.GroupVersionKind, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, schema.GroupVersionKind{}, apierrors.NewInternalError(err)
	}
	kinds, _, err := typer.ObjectKinds(obj)
	if err != nil {
		return nil, schema.GroupVersionKind{}, apierrors.NewInternalError(err)
	}
	return m, kinds[0], nil
}
