package volumeattachment

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/volumespec"
	"github.com/kx-apiserver/kx/server/builtin/storage"
)

const (
	maxMetadata = 256 << 10
	maxMessage  = 1024
)

var (
	specPath     = field.NewPath("spec")
	attacherPath = specPath.Child("attacher")
	statusPath   = field.NewPath("status")
)

func validate(a *storagev1.VolumeAttachment) field.ErrorList {
	return append(validateWritten(a), storage.DeclaredDriver(&a.Spec.Attacher, attacherPath)...)
}

// validateWritten checks all that the types of attachments do not declare.
func validateWritten(a *storagev1.VolumeAttachment) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&a.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateSource(&a.Spec.Source, specPath.Child("source"))...)
	node := a.Spec.NodeName
	errs = append(errs, builtin.Invalids(specPath.Child("nodeName"), node, apivalidation.NameIsDNSSubdomain(node, false))...)
	errs = append(errs, validateStatus(&a.Status)...)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		// Kubernetes has dots in a name here, where elsewhere it has a path.
		errs = append(errs, builtin.Invalids(field.NewPath("spec.source.persistentVolumeName"), *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
	}
	return errs
}

func validateSource(source *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	inline, name := source.InlineVolumeSpec, source.PersistentVolumeName
	switch {
	case inline == nil && name == nil:
		return field.ErrorList{field.Required(path, one)}
	case inline != nil && name != nil:
		return field.ErrorList{field.Forbidden(path, one)}
	case inline != nil:
		return volumespec.ValidateInline(inline, path.Child("inlineVolumeSpec"))
	case *name == "":
		return field.ErrorList{field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")}
	}
	return nil
}

func validateStatus(status *storagev1.VolumeAttachmentStatus) (errs field.ErrorList) {
	size := 0
	for key, value := range status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxMetadata {
		errs = append(errs, field.TooLong(statusPath.Child("attachmentMetadata"), "", maxMetadata))
	}
	errs = append(errs, validateError(status.AttachError, statusPath.Child("attachError"))...)
	return append(errs, validateError(status.DetachError, statusPath.Child("detachError"))...)
}

func validateError(e *storagev1.VolumeError, path *field.Path) (errs field.ErrorList) {
	if e == nil {
		return nil
	}
	if len(e.Message) > maxMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxMessage))
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), *code, validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return errs
}

// validateUpdate keeps the spec. The metadata is not compared with what it was. The attacher is checked first, by rules with
// messages of their own: those that its type declares are not asked if the spec has changed.
func validateUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	errs := append(storage.ValidateDriverName(a.Spec.Attacher, attacherPath), validateWritten(a)...)
	if !apiequality.Semantic.DeepEqual(a.Spec, old.Spec) {
		errs = append(errs, builtin.Immutable(specPath))
	}
	return errs
}
