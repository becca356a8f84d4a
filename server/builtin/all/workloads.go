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
	"github.com/kx-apiserver/kx/server/builtin/apps/controllerrevision"
	"github.com/kx-apiserver/kx/server/builtin/apps/daemonset"
	"github.com/kx-apiserver/kx/server/builtin/apps/deployment"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/apps/statefulset"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta1"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta2"
	"github.com/kx-apiserver/kx/server/builtin/batch/cronjob"
	"github.com/kx-apiserver/kx/server/builtin/batch/job"
	"github.com/kx-apiserver/kx/server/builtin/policy/poddisruptionbudget"
	"github.com/kx-apiserver/kx/server/builtin/scheduling/priorityclass"
)

func apps() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: appsv1.SchemeGroupVersion, Types: appsv1.AddToScheme},
			{GroupVersion: appsv1beta2.SchemeGroupVersion, Types: appsv1beta2.AddToScheme, Convert: v1beta2.AddToScheme, OffByDefault: true},
			{GroupVersion: appsv1beta1.SchemeGroupVersion, Types: appsv1beta1.AddToScheme, Convert: v1beta1.AddToScheme, OffByDefault: true},
		},
		Resources: []builtin.Declaration{
			builtin.Declare(controllerrevision.Resource),
			builtin.Declare(daemonset.Resource),
			builtin.Declare(deployment.Resource),
			builtin.Declare(replicaset.Resource),
			builtin.Declare(statefulset.Resource),
		},
	}
}

func batch() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(batchv1.SchemeGroupVersion, batchv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(cronjob.Resource),
			builtin.Declare(job.Resource),
		},
	}
}

func policy() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(policyv1.SchemeGroupVersion, policyv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(poddisruptionbudget.Resource),
		},
	}
}

func scheduling() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(schedulingv1.SchemeGroupVersion, schedulingv1.AddToScheme),
			beta(schedulingv1beta1.SchemeGroupVersion, schedulingv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(priorityclass.Resource),
		},
	}
}
