// Package quota measures the usage of an object for resource quotas, and matches quotas to objects.
//
// In come objects and specs of quotas. Out go amounts under the names in quotas, and the resources that a quota
// counts. The package knows neither storages nor requests, so that the controller, which counts existing
// objects, and admission, which judges new ones, agree.
//
//	Measure    an object: its usage, and its properties for scopes
//	Resources  a quota: the resources that it counts, and Names by which of its names
//	Matches    a quota and an object: whether all scopes of the quota (Selectors) select the object (Selected)
//	Sum        a quota and all objects: the usage of each name
//
// The rules are those of a Kubernetes API server's evaluators, except for extended resources with a
// DeviceClass. Here they are charged to the pod that requests them, and not to a ResourceClaim: upstream looks
// up the class, the pod and its claims.
//
// # Invariants
//
//  1. Nothing here reads a clock: the object alone determines its usage and the end of it.
//  2. Amounts are exact. An amount keeps its format (1Gi, 1G): a sum has the format of the first amount that
//     is not zero.
package quota
