package all

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/autoscaling"
)

// autoscalingGroup also registers Scale, the kind of the subresource scale in every group.
func autoscalingGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(autoscalingv2.SchemeGroupVersion, autoscalingv2.AddToScheme),
			{GroupVersion: autoscalingv1.SchemeGroupVersion, Types: autoscalingv1.AddToScheme, Convert: autoscaling.AddV1},
		},
		Resources: []builtin.Declaration{
			builtin.Declare(autoscaling.HorizontalPodAutoscaler),
		},
	}
}
