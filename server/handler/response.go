package handler

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// metaCodecs encodes tables and partial objects, and decodes options.
var metaCodecs = serializer.NewCodecFactory(metainternalversionscheme.Scheme,
	serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())

// transformResponseObject responds with the result of rest in the version and form that the client asked for. If it
// returns an error, nothing has been written yet. A list that fails later is cut off.
func transformResponseObject(ctx context.Context, scope *RequestScope, req *http.Request, w http.ResponseWriter, statusCode int,
	mediaType negotiation.MediaTypeOptions, result runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerEncode, scope.Kind.Kind)
	defer step.End(&err)
	if step.Recording() {
		step.Int("code", int64(statusCode))
		step.Text("mediaType", mediaType.Accepted.MediaType)
	}
	options, err := optionsForTransform(mediaType, req)
	if err != nil {
		return err
	}
	if list, ok := result.(*object.List); ok {
		a := listAnswer{scope: scope, req: req, mediaType: mediaType, options: options, list: list}
		stream := responsewriters.NewStream(mediaType.Accepted.MediaType, w, req, statusCode)
		stream.Reuse(piecesOf(scope))
		if err = a.write(ctx, step, stream); err != nil && stream.Sent() {
			stream.Abort()
		}
		return err
	}
	if err := withItems(result); err != nil {
		return err
	}
	obj := result
	err = transform(ctx, result, mediaType.Convert, scope, func(ctx context.Context) (err error) {
		obj, err = doTransformObject(ctx, result, options, mediaType.Convert, scope)
		return err
	})
	if err != nil {
		return err
	}
	kind, codecs := targetEncodingForTransform(scope, mediaType)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType.Accepted.MediaType)
	if !ok {
		info = mediaType.Accepted
	}
	info = mediaType.ForPeople(req, info)
	encoder := codecs.EncoderForVersion(info.Serializer, kind.GroupVersion())
	if step.Recording() {
		describeEncoded(step, obj, encoder)
	}
	audit.LogResponseObject(ctx, auditable(ctx, obj), kind.GroupVersion(), codecs)
	responsewriters.SerializeObject(info.MediaType, encoder, w, req, statusCode, obj)
	return nil
}

// withItems replaces the null items of an empty list by [], which clients expect. The list belongs to this request, so
// it may be modified.
func withItems(result runtime.Object) error {
	if _, ok := result.(*object.Encoded); ok {
		return nil
	}
	if !meta.IsListType(result) || meta.LenList(result) > 0 {
		return nil
	}
	return meta.SetList(result, []runtime.Object{})
}

// transform calls do in a step. do converts a result to the form that the client asked for. The items of a list are
// converted later, one by one; then do only prepares that.
func transform(ctx context.Context, result runtime.Object, target *schema.GroupVersionKind, scope *RequestScope,
	do func(context.Context) error) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerTransform, scope.Kind.Kind)
	defer step.End(&err)
	whyTransformed(step, result, target, scope)
	return do(ctx)
}

var (
	objectAsItIs = trace.Because("object-as-it-is",
		"the object itself was asked for, and rest has it in this version",
		"要的是对象本身，REST 层给出的就是这个版本")
	objectConverted = trace.Because("object-converted",
		"the object itself was asked for, in {version:word}: rest has it in another version",
		"要的是对象本身，版本是 {version:word}：REST 层给出的是另一个版本")
	statusAsItIs = trace.Because("status-as-it-is",
		"rest answers with a Status, which has no other form",
		"REST 层返回的是 Status，它没有别的形式")
	tableAsked = trace.Because("table-asked",
		"a Table was asked for: the resource has columns",
		"要的是 Table：资源定义了列")
	metadataAsked = trace.Because("metadata-asked",
		"PartialObjectMetadata was asked for: the metadata, without the rest",
		"要的是 PartialObjectMetadata：只有元数据")
	metadataOfListed = trace.Because("metadata-of-listed",
		"a PartialObjectMetadataList was asked for: the metadata of the items, without the rest",
		"要的是 PartialObjectMetadataList：各项只有元数据")
	otherKindAsked = trace.Because("other-kind-asked",
		"the client asked for {kind:quote}, which nothing can be made into",
		"客户端要的是 {kind:quote}，没有办法转成它")
)

func whyTransformed(step *trace.Step, result runtime.Object, target *schema.GroupVersionKind, scope *RequestScope) {
	if !step.Recording() {
		return
	}
	if _, ok := result.(*metav1.Status); ok {
		step.Why(statusAsItIs)
		return
	}
	if target == nil {
		if to := scope.Kind.GroupVersion(); to != scope.HubGroupVersion {
			step.WhyText(objectConverted, to.String())
		} else {
			step.Why(objectAsItIs)
		}
		return
	}
	switch target.Kind {
	case "PartialObjectMetadata":
		step.Why(metadataAsked)
	case "PartialObjectMetadataList":
		step.Why(metadataOfListed)
	case "Table":
		step.Why(tableAsked)
	default:
		step.WhyText(otherKindAsked, target.Kind)
	}
}

// doTransformObject converts an object from rest to the form that the client asked for: target, or the object in the
// request's version. Watches use it, too.
func doTransformObject(ctx context.Context, obj runtime.Object, options *metav1.TableOptions, target *schema.GroupVersionKind,
	scope *RequestScope) (runtime.Object, error) {
	if _, ok := obj.(*metav1.Status); ok {
		return obj, nil
	}
	if target == nil {
		return fromHub(ctx, scope, obj)
	}
	switch target.Kind {
	case "PartialObjectMetadata":
		return asPartialObjectMetadata(obj, target.GroupVersion())
	case "PartialObjectMetadataList":
		return asPartialObjectMetadataList(obj, target.GroupVersion())
	case "Table":
		return asTable(ctx, obj, options, scope, target.GroupVersion())
	}
	accepted, _ := negotiation.MediaTypesForSerializer(metaCodecs)
	return nil, negotiation.NewNotAcceptableError(accepted)
}

// optionsForTransform returns the query parameters of a table; nil if the client asks for none.
func optionsForTransform(mediaType negotiation.MediaTypeOptions, req *http.Request) (*metav1.TableOptions, error) {
	target := mediaType.Convert
	if target == nil || target.Kind != "Table" || !isMetaVersion(target.GroupVersion()) {
		return nil, nil
	}
	options := &metav1.TableOptions{}
	if err := decodeParameters(req, metav1.SchemeGroupVersion, options); err != nil {
		return nil, err
	}
	switch errs := validation.ValidateTableOptions(options); len(errs) {
	case 0:
		return options, nil
	case 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0].Error()))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}

// targetEncodingForTransform returns the kind to encode and its serializer.
func targetEncodingForTransform(scope *RequestScope, mediaType negotiation.MediaTypeOptions) (schema.GroupVersionKind,
	runtime.NegotiatedSerializer) {
	if mediaType.Convert == nil {
		return scope.Kind, scope.Serializer
	}
	return *mediaType.Convert, metaCodecs
}
