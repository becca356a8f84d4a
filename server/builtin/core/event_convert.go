package core

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ConvertEvents registers the conversions between events of the two groups. The result shares memory with the source.
func ConvertEvents(s *runtime.Scheme) error {
	return errors.Join(
		builtin.AddSureConversion(s, toStored),
		builtin.AddSureConversion(s, fromStored),
		builtin.AddSureConversion(s, func(in *eventsv1.EventList, out *corev1.EventList) {
			*out = corev1.EventList{ListMeta: in.ListMeta, Items: builtin.ConvertAll(in.Items, toStored)}
		}),
		builtin.AddSureConversion(s, func(in *corev1.EventList, out *eventsv1.EventList) {
			*out = eventsv1.EventList{ListMeta: in.ListMeta, Items: builtin.ConvertAll(in.Items, fromStored)}
		}),
	)
}

func toStored(in *eventsv1.Event, out *corev1.Event) {
	*out = corev1.Event{
		ObjectMeta:          in.ObjectMeta,
		InvolvedObject:      in.Regarding,
		Reason:              in.Reason,
		Message:             in.Note,
		Source:              in.DeprecatedSource,
		FirstTimestamp:      in.DeprecatedFirstTimestamp,
		LastTimestamp:       in.DeprecatedLastTimestamp,
		Count:               in.DeprecatedCount,
		Type:                in.Type,
		EventTime:           in.EventTime,
		Series:              (*corev1.EventSeries)(in.Series),
		Action:              in.Action,
		Related:             in.Related,
		ReportingController: in.ReportingController,
		ReportingInstance:   in.ReportingInstance,
	}
}

func fromStored(in *corev1.Event, out *eventsv1.Event) {
	*out = eventsv1.Event{
		ObjectMeta:               in.ObjectMeta,
		EventTime:                in.EventTime,
		Series:                   (*eventsv1.EventSeries)(in.Series),
		ReportingController:      in.ReportingController,
		ReportingInstance:        in.ReportingInstance,
		Action:                   in.Action,
		Reason:                   in.Reason,
		Regarding:                in.InvolvedObject,
		Related:                  in.Related,
		Note:                     in.Message,
		Type:                     in.Type,
		DeprecatedSource:         in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp,
		DeprecatedLastTimestamp:  in.LastTimestamp,
		DeprecatedCount:          in.Count,
	}
}
