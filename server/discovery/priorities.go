package discovery

import "k8s.io/apimachinery/pkg/runtime/schema"

// Priority orders a version: first by the priority of its group, then by its own within the group.
type Priority struct{ Group, Version int32 }

// CustomPriority is the priority of all versions that Kubernetes does not have, such as those of custom resources.
var CustomPriority = Priority{1000, 100}

// PriorityOf returns the priority of a version. known is true for Kubernetes' own versions, which have API services
// from the start.
func PriorityOf(gv schema.GroupVersion) (p Priority, known bool) {
	if p, known = priorities[gv]; known {
		return p, true
	}
	return CustomPriority, false
}

// priorities lists the priorities of Kubernetes' own versions.
var priorities = map[schema.GroupVersion]Priority{
	{Group: "", Version: "v1"}:                                  {18000, 1},
	{Group: "apps", Version: "v1"}:                              {17800, 15},
	{Group: "events.k8s.io", Version: "v1"}:                     {17750, 15},
	{Group: "events.k8s.io", Version: "v1beta1"}:                {17750, 5},
	{Group: "authentication.k8s.io", Version: "v1"}:             {17700, 15},
	{Group: "authentication.k8s.io", Version: "v1beta1"}:        {17700, 9},
	{Group: "authorization.k8s.io", Version: "v1"}:              {17600, 15},
	{Group: "autoscaling", Version: "v2"}:                       {17500, 30},
	{Group: "autoscaling", Version: "v1"}:                       {17500, 15},
	{Group: "autoscaling", Version: "v2beta1"}:                  {17500, 9},
	{Group: "autoscaling", Version: "v2beta2"}:                  {17500, 1},
	{Group: "batch", Version: "v1"}:                             {17400, 15},
	{Group: "batch", Version: "v1beta1"}:                        {17400, 9},
	{Group: "certificates.k8s.io", Version: "v1"}:               {17300, 15},
	{Group: "certificates.k8s.io", Version: "v1beta1"}:          {17300, 9},
	{Group: "networking.k8s.io", Version: "v1"}:                 {17200, 15},
	{Group: "networking.k8s.io", Version: "v1beta1"}:            {17200, 9},
	{Group: "policy", Version: "v1"}:                            {17100, 15},
	{Group: "policy", Version: "v1beta1"}:                       {17100, 9},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:         {17000, 15},
	{Group: "storage.k8s.io", Version: "v1"}:                    {16800, 15},
	{Group: "storage.k8s.io", Version: "v1beta1"}:               {16800, 9},
	{Group: "admissionregistration.k8s.io", Version: "v1"}:      {16700, 15},
	{Group: "admissionregistration.k8s.io", Version: "v1beta1"}: {16700, 12},
	{Group: "apiextensions.k8s.io", Version: "v1"}:              {16700, 15},
	{Group: "scheduling.k8s.io", Version: "v1"}:                 {16600, 15},
	{Group: "scheduling.k8s.io", Version: "v1beta1"}:            {16600, 9},
	{Group: "coordination.k8s.io", Version: "v1"}:               {16500, 15},
	{Group: "coordination.k8s.io", Version: "v1beta1"}:          {16500, 13},
	{Group: "node.k8s.io", Version: "v1"}:                       {16300, 15},
	{Group: "node.k8s.io", Version: "v1beta1"}:                  {16300, 9},
	{Group: "discovery.k8s.io", Version: "v1"}:                  {16200, 15},
	{Group: "discovery.k8s.io", Version: "v1beta1"}:             {16200, 12},
	{Group: "resource.k8s.io", Version: "v1"}:                   {16200, 21},
	{Group: "resource.k8s.io", Version: "v1beta2"}:              {16200, 15},
	{Group: "resource.k8s.io", Version: "v1beta1"}:              {16200, 9},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}:      {16100, 21},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3"}: {16100, 18},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2"}: {16100, 15},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta1"}: {16100, 12},
	{Group: "storagemigration.k8s.io", Version: "v1"}:           {15800, 15},
	{Group: "storagemigration.k8s.io", Version: "v1beta1"}:      {15800, 9},
}
