package repair

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// trouble is the content of an event.
type trouble struct{ reason, action, note string }

// recorder creates the events of one controller.
type recorder struct {
	name, instance string
	events         *work.Objects[*corev1.Event]
}

func newRecorder(kit *work.Kit, writer *work.Writer) recorder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return recorder{writer.Name, writer.Name + "-" + host,
		work.ObjectsOf[*corev1.Event](kit, writer, eventsv1.SchemeGroupVersion.WithResource("events"))}
}

var troubleTold = trace.Because("trouble-told",
	"who uses the object can see it in an event: {kind:word}",
	"该对象的使用者可在事件中看到：{kind:word}")

// tell creates an event about an object.
func (r recorder) tell(ctx context.Context, about corev1.ObjectReference, t trouble, cause int64) error {
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	now := time.Now()
	return r.events.Create(ctx, &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", about.Name, now.UnixNano()), Namespace: namespace},
		InvolvedObject:      about,
		EventTime:           metav1.NewMicroTime(now),
		Type:                corev1.EventTypeWarning,
		Reason:              t.reason,
		Action:              t.action,
		Message:             t.note,
		ReportingController: r.name,
		ReportingInstance:   r.instance,
	}, work.Decision{Cause: cause, Why: func(step *trace.Step) { step.WhyText(troubleTold, t.reason) }})
}

func aboutService(svc *corev1.Service) corev1.ObjectReference {
	return corev1.ObjectReference{
		Kind: "Service", APIVersion: corev1.SchemeGroupVersion.String(), Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID,
		ResourceVersion: svc.ResourceVersion,
	}
}

func aboutAddress(ip *networkingv1.IPAddress) corev1.ObjectReference {
	return corev1.ObjectReference{
		Kind: "IPAddress", APIVersion: networkingv1.SchemeGroupVersion.String(), Name: ip.Name, UID: ip.UID,
		ResourceVersion: ip.ResourceVersion,
	}
}
