package storage

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

const (
	maxMetadata                = 256 << 10
	volumeAttachmentMaxMessage = 1024
)

var (
	volumeAttachmentSpecPath = field.NewPath("spec")
	attacherPath             = volumeAttachmentSpecPath.Child("attacher")
	statusPath               = field.NewPath("status")
)

func validateVolumeAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	return append(validateWritten(a), podspec.DeclaredDriver(&a.Spec.Attacher, attacherPath)...)
}

// validateWritten checks the rules that the types of attachments do not declare.
func validateWritten(a *storagev1.VolumeAttachment) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&a.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateSource(&a.Spec.Source, volumeAttachmentSpecPath.Child("source"))...)
	node := a.Spec.NodeName
	errs = append(errs,
		builtin.Invalids(volumeAttachmentSpecPath.Child("nodeName"), node, apivalidation.NameIsDNSSubdomain(node, false))...)
	errs = append(errs, validateVolumeAttachmentStatus(&a.Status)...)
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		// In Kubernetes this path is a single name with dots.
		errs = append(errs,
			builtin.Invalids(field.NewPath("spec.source.persistentVolumeName"), *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
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
		return podspec.ValidateInline(inline, path.Child("inlineVolumeSpec"))
	case *name == "":
		return field.ErrorList{field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")}
	}
	return nil
}

func validateVolumeAttachmentStatus(status *storagev1.VolumeAttachmentStatus) (errs field.ErrorList) {
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
	if len(e.Message) > volumeAttachmentMaxMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", volumeAttachmentMaxMessage))
	}
	if code := e.ErrorCode; code != nil && *code < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), *code, validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return errs
}

// validateVolumeAttachmentUpdate refuses changes of the spec. It does not compare the metadata with the old metadata.
// First it checks the attacher by written rules, with their own messages: the declared rules do not run if the spec
// has changed.
func validateVolumeAttachmentUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	errs := append(podspec.ValidateDriverName(a.Spec.Attacher, attacherPath), validateWritten(a)...)
	if !apiequality.Semantic.DeepEqual(a.Spec, old.Spec) {
		errs = append(errs, builtin.Immutable(volumeAttachmentSpecPath))
	}
	return errs
}
