package handler

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/listing"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// listAnswer is a list that is written to the client item by item.
type listAnswer struct {
	scope     *RequestScope
	req       *http.Request
	mediaType negotiation.MediaTypeOptions
	options   *metav1.TableOptions
	list      *object.List
}

// piecesOf returns the store for compressed parts of the resource's lists. It returns nil for Secrets and for all else
// that is confidential: a kept part may outlive the objects in it, which the watch cache forgets after a while.
func piecesOf(scope *RequestScope) *responsewriters.Pieces {
	of := mask.Request{Group: scope.Resource.Group, Resource: scope.Resource.Resource, Subresource: scope.Subresource}
	if mask.Confidential(of) {
		return nil
	}
	return scope.Pieces
}

// write writes the list in the version and form that the client asked for.
func (a *listAnswer) write(ctx context.Context, step *trace.Step, stream *responsewriters.Stream) error {
	kind, codecs := targetEncodingForTransform(a.scope, a.mediaType)
	format, ok := listing.FormatOf(a.mediaType.Accepted.MediaType, a.mediaType.Pretty || negotiation.IsPrettyPrint(a.req))
	if !ok {
		return fmt.Errorf("write a list of %s as %s: nobody knows how", kind, a.mediaType.Accepted.MediaType)
	}
	encoder, err := format.Encoder(codecs, kind.GroupVersion())
	if err != nil {
		return err
	}
	var document *listing.Document
	err = transform(ctx, nil, a.mediaType.Convert, a.scope, func(ctx context.Context) (err error) {
		document, err = a.document(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.audit(ctx); err != nil {
		return err
	}
	counts, err := format.Write(ctx, stream, encoder, kind.GroupVersion(), document)
	if err == nil {
		err = stream.Close()
	}
	describeItems(step, counts, a.mediaType.Convert)
	return failure(ctx, step, stream, err)
}

var answerCutOff = trace.Because("answer-cut-off",
	"the answer had begun and can't be completed: the connection is cut, so that nobody takes it for the whole",
	"响应已经开始但无法完成：断开连接，以免被当成完整的响应")

// failure converts the error of a response into the one that the client or the journey gets.
func failure(ctx context.Context, step *trace.Step, stream *responsewriters.Stream, err error) error {
	if timedOut(ctx, err) {
		err = requestTimedOut(ctx.Err())
	}
	if err != nil && stream.Sent() {
		step.Why(answerCutOff)
		trace.AnswerFailed(ctx, int(responsewriters.ErrorToAPIStatus(ctx, err).Code))
	}
	return err
}

var (
	itemsReused = trace.Because("items-reused",
		"the bytes of all items were there: nothing is encoded",
		"所有条目都已有字节，不再编码")
	itemsMade = trace.Because("items-made",
		"{reused} of {items} items had their bytes: the others are encoded, and the bytes are kept with them",
		"{items} 个条目中有 {reused} 个已有字节；其余的编码后保留字节")
	itemsMadeForOne = trace.Because("items-made-for-one",
		"{made} of {items} items were encoded for this answer alone",
		"{items} 个条目中有 {made} 个只为本次响应编码")
)

// describeItems adds the number of written items and the origin of their bytes to step.
func describeItems(step *trace.Step, counts listing.Counts, target *schema.GroupVersionKind) {
	switch {
	case !step.Recording():
	case target != nil:
		step.Int("items", int64(counts.Items))
	case counts.Made > 0:
		step.Why(itemsMadeForOne, int64(counts.Made), int64(counts.Items))
	case counts.There == counts.Items:
		step.Why(itemsReused)
	default:
		step.Why(itemsMade, int64(counts.There), int64(counts.Items))
	}
}

// document returns the list in the form that the client asked for: a table, metadata alone, or the objects in the
// request's version.
func (a *listAnswer) document(ctx context.Context) (*listing.Document, error) {
	target := a.mediaType.Convert
	switch {
	case target == nil:
		return objectList(ctx, a.scope, a.list)
	case target.Kind == "PartialObjectMetadata":
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf(
			"you requested PartialObjectMetadata, but the requested object is a list (%T)",
			a.list.New()))
	case target.Kind == "PartialObjectMetadataList":
		return metadataList(a.list, target.GroupVersion())
	case target.Kind == "Table":
		return tableList(ctx, a.scope, a.list, a.options, target.GroupVersion())
	}
	accepted, _ := negotiation.MediaTypesForSerializer(metaCodecs)
	return nil, negotiation.NewNotAcceptableError(accepted)
}

// objectList returns the list in the request's version. It converts the items one by one; the journey shows the first
// conversion.
func objectList(ctx context.Context, scope *RequestScope, list *object.List) (*listing.Document, error) {
	empty, err := list.Empty()
	if err != nil {
		return nil, err
	}
	_, untyped := empty.(*unstructured.UnstructuredList)
	d := &listing.Document{Empty: empty, Field: "items", Items: list.Items, Element: listing.Object(!untyped)}
	to := scope.Kind.GroupVersion()
	if scope.HubGroupVersion == to {
		return d, nil
	}
	if d.Empty, err = emptyListIn(scope, empty, to); err != nil {
		return nil, err
	}
	d.Items = list.Items.Each(eachShownOnce(func(ctx context.Context, item runtime.Object) (runtime.Object, error) {
		return convert(ctx, scope, item, scope.HubGroupVersion, to)
	}))
	return d, nil
}

// eachShownOnce wraps change so that only the steps for the first item are recorded: those of the others are alike.
func eachShownOnce(change func(context.Context, runtime.Object) (runtime.Object, error)) func(context.Context,
	runtime.Object) (runtime.Object, error) {
	shown := false
	return func(ctx context.Context, item runtime.Object) (runtime.Object, error) {
		if shown {
			ctx = trace.WithoutRecording(ctx)
		}
		shown = true
		return change(ctx, item)
	}
}

// emptyListIn converts a list without items.
func emptyListIn(scope *RequestScope, empty runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
	if scope.HubGroupVersion.Group == to.Group {
		return scope.UnsafeConvertor.ConvertToVersion(empty, to)
	}
	out, err := scope.Creater.New(to.WithKind(scope.Kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	return out, scope.UnsafeConvertor.Convert(empty, out, nil)
}
