package all

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps"
	"github.com/kx-apiserver/kx/server/builtin/batch"
	"github.com/kx-apiserver/kx/server/builtin/policy"
	"github.com/kx-apiserver/kx/server/builtin/scheduling"
)

func appsGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: appsv1.SchemeGroupVersion, Types: appsv1.AddToScheme},
			{GroupVersion: appsv1beta2.SchemeGroupVersion, Types: appsv1beta2.AddToScheme, Convert: apps.AddV1beta2,
				OffByDefault: true},
			{GroupVersion: appsv1beta1.SchemeGroupVersion, Types: appsv1beta1.AddToScheme, Convert: apps.AddV1beta1,
				OffByDefault: true},
		},
		Resources: []builtin.Declaration{
			builtin.Declare(apps.ControllerRevision),
			builtin.Declare(apps.DaemonSet),
			builtin.Declare(apps.Deployment),
			builtin.Declare(apps.ReplicaSet),
			builtin.Declare(apps.StatefulSet),
		},
	}
}

func batchGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(batchv1.SchemeGroupVersion, batchv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(batch.CronJob),
			builtin.Declare(batch.Job),
		},
	}
}

func policyGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(policyv1.SchemeGroupVersion, policyv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(policy.PodDisruptionBudget),
		},
	}
}

func schedulingGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(schedulingv1.SchemeGroupVersion, schedulingv1.AddToScheme),
			beta(schedulingv1beta1.SchemeGroupVersion, schedulingv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(scheduling.PriorityClass),
		},
	}
}
